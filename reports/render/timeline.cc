#include "reports/render/timeline.h"

#include "reports/documents/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

namespace ppplan::render {
namespace {

using planner::Action;
using planner::ActionKind;
using planner::Interval;
using planner::Schedule;
using planner::Timeline;

/// How a kind of action looks. `fill` follows its name where there is room.
struct Look {
  char letter;
  std::string_view fill;
  std::string_view color;
  std::string_view word;
};

constexpr std::size_t kIdle = 4;
constexpr std::array<Look, 5> kLooks{{{'F', "─", "\x1b[30;44m", "forward"},
                                      {'B', "═", "\x1b[30;42m", "backward"},
                                      {'I', "═", "\x1b[30;46m", "input gradient"},
                                      {'W', "┄", "\x1b[30;43m", "weight gradient"},
                                      {' ', " ", "", "idle"}}};
constexpr std::string_view kReset = "\x1b[0m";

/// One column of a rank's line.
struct Cell {
  std::size_t look = kIdle;
  char letter = '\0';  ///< of a name; '\0' where the fill shows
};

std::size_t look_of(ActionKind kind) {
  return std::min(static_cast<std::size_t>(kind), kIdle);
}

/// What names must tell apart: stages only where a rank has several.
enum class Naming { kMicroBatch, kStageAndMicroBatch };

Naming naming_of(const Schedule& schedule) {
  for (const std::vector<Action>& actions : schedule.ranks) {
    const auto other_stage = [&](const Action& action) {
      return action.stage != actions.front().stage;
    };
    if (std::ranges::any_of(actions, other_stage)) return Naming::kStageAndMicroBatch;
  }
  return Naming::kMicroBatch;
}

std::string name_of(const Action& action, Naming naming) {
  const char letter = kLooks[look_of(action.kind)].letter;
  if (naming == Naming::kMicroBatch) return fmt::format("{}{}", letter, action.micro_batch);
  return fmt::format("{}{}{}", action.stage, letter, action.micro_batch);
}

/// Columns for the whole time: as few as let the shortest action show its name, at most `most`.
std::size_t columns_for(const Schedule& schedule, const Timeline& timeline, Naming naming,
                        std::size_t most) {
  double columns = 1.0;
  for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    for (std::size_t position = 0; position < timeline.ranks[rank].size(); ++position) {
      const auto& [start, finish] = timeline.ranks[rank][position];
      if (finish <= start) continue;
      const std::string name = name_of(schedule.ranks[rank][position], naming);
      const auto letters = static_cast<double>(name.size());
      columns = std::max(columns, letters * (timeline.makespan / (finish - start)));
      if (columns >= static_cast<double>(most)) return most;
    }
  }
  return static_cast<std::size_t>(std::ceil(columns));
}

/// A part of the time and how many columns show it.
struct Window {
  Seconds from{0};
  Seconds length{0};
  std::size_t columns = 1;
  [[nodiscard]] Seconds end() const { return from + length; }
};

/// One rank's line: every column shows the look that fills most of it, then names where they fit.
class RankLine {
 public:
  explicit RankLine(const Window& window)
      : shares_(window.columns),
        cells_(window.columns),
        window_(window),
        column_time_(window.length / static_cast<double>(window.columns)) {}

  void add(const Action& action, const Interval& interval) {
    if (interval.finish <= window_.from || interval.start >= window_.end()) return;
    const double begin = std::max((interval.start - window_.from) / column_time_, 0.0);
    const double end = std::min((interval.finish - window_.from) / column_time_,
                                static_cast<double>(cells_.size()));
    for (auto column = static_cast<std::size_t>(begin); static_cast<double>(column) < end;
         ++column) {
      const auto left = static_cast<double>(column);
      const double share = std::min(end, left + 1.0) - std::max(begin, left);
      shares_[column][look_of(action.kind)] += static_cast<float>(share);
    }
  }

  void settle() {
    for (std::size_t column = 0; column < cells_.size(); ++column) {
      std::array<float, kIdle + 1>& share = shares_[column];
      share[kIdle] = 1.0F;
      for (std::size_t look = 0; look < kIdle; ++look) share[kIdle] -= share[look];
      const auto largest = std::ranges::max_element(share);
      cells_[column].look = static_cast<std::size_t>(largest - share.begin());
      if (cells_[column].look != kIdle) cells_[column].letter = kLooks[cells_[column].look].letter;
    }
  }

  /// Writes the name into the columns of which the action fills at least half.
  void name(const Action& action, const Interval& interval, Naming naming) {
    if (interval.start < window_.from || interval.start >= window_.end()) return;
    const auto column_of = [&](Seconds time) {
      return static_cast<std::size_t>(std::lround((time - window_.from) / column_time_));
    };
    const std::size_t begin = column_of(interval.start);
    const std::size_t end =
        std::min(column_of(std::min(interval.finish, window_.end())), cells_.size());
    std::string text = name_of(action, naming);
    if (end < begin + text.size()) text = name_of(action, Naming::kMicroBatch);
    if (end < begin + text.size()) return;
    for (std::size_t column = begin; column < end; ++column) {
      const std::size_t letter = column - begin;
      cells_[column] = {look_of(action.kind), letter < text.size() ? text[letter] : '\0'};
    }
  }

  [[nodiscard]] std::string text(Style style) const {
    std::string line;
    std::size_t shown = kIdle;
    for (const auto& [look, letter] : cells_) {
      if (style == Style::kColored && look != shown) {
        if (shown != kIdle) line += kReset;
        line += kLooks[look].color;
        shown = look;
      }
      if (letter != '\0') {
        line += letter;
      } else {
        line += kLooks[look].fill;
      }
    }
    if (shown != kIdle) line += kReset;
    return line;
  }

 private:
  std::vector<std::array<float, kIdle + 1>> shares_;
  std::vector<Cell> cells_;
  Window window_;
  Seconds column_time_;
};

std::string legend(const Schedule& schedule) {
  std::set<std::size_t> looks;
  for (const std::vector<Action>& actions : schedule.ranks) {
    for (const Action& action : actions) looks.insert(look_of(action.kind));
  }
  looks.erase(kIdle);
  std::string line;
  for (const std::size_t look : looks) {
    line +=
        fmt::format("{}{} {}", line.empty() ? "" : "  ", kLooks[look].letter, kLooks[look].word);
  }
  return line;
}

/// The whole time as one window; or, where actions would be shorter than a column, its beginning
/// and its end, at a scale that shows actions and, of not too many ranks, how the pipeline fills.
std::vector<Window> windows_for(const Timeline& timeline, std::size_t columns) {
  constexpr double kColumnsOfAction = 3.0;
  Seconds busy{0};
  std::size_t action_count = 0;
  for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    busy += timeline.busy[rank];
    action_count += timeline.ranks[rank].size();
  }
  const Window whole{Seconds(0), timeline.makespan, columns};
  const Seconds action = busy / static_cast<double>(std::max<std::size_t>(action_count, 1));
  if (timeline.makespan <= action * static_cast<double>(columns)) return {whole};
  const std::size_t half = (columns - 1) / 2;
  const double shown = std::max(static_cast<double>(half) / kColumnsOfAction,
                                static_cast<double>(timeline.ranks.size()) + 4.0);
  const Seconds length = action * shown;
  if (2.0 * length >= timeline.makespan) return {whole};
  return {{Seconds(0), length, half}, {timeline.makespan - length, length, half}};
}

/// "0 s        45.00 s┊2961.00 s    3006.00 s": both ends of every window, where there is room.
std::string axis(const std::vector<Window>& windows) {
  std::string line;
  for (const Window& window : windows) {
    if (!line.empty()) line += "┊";
    const std::string from = window.from == Seconds(0) ? "0 s" : ppplan::human(window.from);
    const std::string end = ppplan::human(window.end());
    const std::size_t room = window.columns - std::min(window.columns, from.size());
    line += room > end.size() ? fmt::format("{}{:>{}}", from, end, room)
                              : fmt::format("{:>{}}", end, window.columns);
  }
  return line;
}

}  // namespace

std::string timeline_text(const Schedule& schedule, const Timeline& timeline,
                          const TimelineOptions& options) {
  const std::size_t rank_count = timeline.ranks.size();
  if (rank_count == 0 || timeline.makespan <= Seconds(0)) return {};
  const std::size_t digits = std::to_string(rank_count - 1).size();
  const std::size_t frame = std::string_view("rank  ||").size() + digits;
  const Naming naming = naming_of(schedule);
  const std::string length = ppplan::human(timeline.makespan);
  const std::size_t columns = std::max(
      columns_for(schedule, timeline, naming, std::max<std::size_t>(options.width, 40) - frame),
      length.size() + 4);
  const std::vector<Window> windows = windows_for(timeline, columns);
  const std::size_t head = (options.most_ranks + 1) / 2;
  const bool all = rank_count <= options.most_ranks;
  std::string text;
  for (std::size_t rank = 0; rank < rank_count; ++rank) {
    if (!all && rank == head) {
      const std::size_t hidden = rank_count - options.most_ranks;
      text += fmt::format("  … {} more ranks\n", hidden);
      rank += hidden;
      if (rank >= rank_count) break;
    }
    std::string drawn;
    for (const Window& window : windows) {
      RankLine line(window);
      const std::vector<Action>& actions = schedule.ranks[rank];
      const std::vector<Interval>& intervals = timeline.ranks[rank];
      for (std::size_t at = 0; at < intervals.size(); ++at) line.add(actions[at], intervals[at]);
      line.settle();
      for (std::size_t at = 0; at < intervals.size(); ++at) {
        line.name(actions[at], intervals[at], naming);
      }
      drawn += (drawn.empty() ? "" : "┊") + line.text(options.style);
    }
    text += fmt::format("rank {:>{}} │{}│\n", rank, digits, drawn);
  }
  text += fmt::format("{:>{}}{}\n", "", frame - 1, axis(windows));
  return text + legend(schedule) + (windows.size() == 1 ? "\n" : "  ┊ left out\n");
}

}  // namespace ppplan::render
