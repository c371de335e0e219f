#include "planner/schedule/text.h"

#include "planner/schedule/checker.h"
#include "planner/schedule/generators.h"
#include "planner/schedule/walk.h"
#include "reports/documents/error.h"
#include "reports/documents/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace ppplan::planner {
namespace {

constexpr std::string_view kOverlap = "OVERLAP_F_B";

// Longest words first, so that "SEND_F" is not read as something shorter.
constexpr std::array<std::pair<std::string_view, ActionKind>, 8> kWords{{
    {"SEND_F", ActionKind::kSendActivation},
    {"RECV_F", ActionKind::kReceiveActivation},
    {"SEND_B", ActionKind::kSendGradient},
    {"RECV_B", ActionKind::kReceiveGradient},
    {"F", ActionKind::kForward},
    {"B", ActionKind::kBackward},
    {"I", ActionKind::kBackwardInput},
    {"W", ActionKind::kBackwardWeight},
}};

/// Where a cell stands; 1-based, column counts cells.
struct Place {
  int row = 1;
  int column = 1;
};

[[noreturn]] void fail(const std::string& name, Place place, const std::string& what,
                       std::string hint = {}) {
  throw Error(Failure::kBadInput, fmt::format("{}:{}:{}: {}", name, place.row, place.column, what),
              std::move(hint));
}

/// Takes digits off the front of a text.
std::optional<std::int32_t> take_number(std::string_view& text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// "2F5", nothing before or after it.
std::optional<Action> parse_action(std::string_view text) {
  const std::optional<std::int32_t> stage = take_number(text);
  const auto word = std::ranges::find_if(
      kWords, [&](const auto& candidate) { return text.starts_with(candidate.first); });
  if (!stage || word == kWords.end()) return std::nullopt;
  text.remove_prefix(word->first.size());
  const std::optional<std::int32_t> micro_batch = take_number(text);
  if (!micro_batch || !text.empty()) return std::nullopt;
  return Action{word->second, false, *stage, *micro_batch};
}

/// "2UNSHARD", "2RESHARD", "2REDUCE_GRAD": sharded data parallelism's, which our language does not
/// have.
bool is_sharding_action(std::string_view text) {
  return take_number(text) && (text == "UNSHARD" || text == "RESHARD" || text == "REDUCE_GRAD");
}

/// One cell: an action, or the two of "(0F1;3B0)OVERLAP_F_B". Empty when it is neither.
std::vector<Action> parse_cell(std::string_view cell) {
  if (!cell.starts_with('(')) {
    const std::optional<Action> action = parse_action(cell);
    return action ? std::vector<Action>{*action} : std::vector<Action>{};
  }
  const std::size_t middle = cell.find(';');
  const std::size_t end = cell.find(')');
  if (middle == cell.npos || end == cell.npos || middle > end) return {};
  if (cell.substr(end + 1) != kOverlap) return {};
  std::optional<Action> first = parse_action(cell.substr(1, middle - 1));
  const std::optional<Action> second = parse_action(cell.substr(middle + 1, end - middle - 1));
  if (!first || !second) return {};
  if (first->kind != ActionKind::kForward || !makes_gradient(second->kind)) return {};
  first->overlapped = true;
  return {*first, *second};
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Calls take(piece, 1-based number) for the pieces between separators; an empty text has one
/// piece.
template <typename Take>
void split(std::string_view text, char separator, Take&& take) {
  for (int number = 1;; ++number) {
    const std::size_t end = text.find(separator);
    take(text.substr(0, end), number);
    if (end == text.npos) return;
    text.remove_prefix(end + 1);
  }
}

/// Cells as read, each with its place.
struct Cells {
  std::vector<std::vector<Action>> ranks;
  std::vector<std::vector<int>> columns;  ///< of the action at the same index
};

Cells read_cells(std::string_view text, const std::string& name) {
  for (const std::string_view mark : {"\xEF\xBB\xBF", "\xFF\xFE", "\xFE\xFF"}) {
    if (!text.starts_with(mark)) continue;
    fail(name, {1, 1}, "expected an action such as 2F5, found a byte order mark",
         "save the file as plain text or as UTF-8 without byte order mark");
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  Cells cells;
  std::int64_t action_count = 0;
  split(text, '\n', [&](std::string_view line, int row) {
    if (row > kMaxRankCount) fail(name, {row, 1}, fmt::format("more than {} ranks", kMaxRankCount));
    cells.ranks.emplace_back();
    cells.columns.emplace_back();
    split(line, ',', [&](std::string_view raw, int column) {
      const std::string_view cell = trim(raw);
      if (cell.empty() || is_sharding_action(cell)) return;
      const std::vector<Action> actions = parse_cell(cell);
      if (actions.empty()) {
        fail(
            name, {row, column},
            fmt::format("expected an action such as 2F5, found '{}'", excerpt(cell)),
            "a cell is STAGE, then F, B, I, W, SEND_F, RECV_F, SEND_B or RECV_B, then MICRO_BATCH; "
            "or (0F1;3B0)OVERLAP_F_B");
      }
      for (const Action& action : actions) {
        cells.ranks.back().push_back(action);
        cells.columns.back().push_back(column);
      }
      action_count += std::ssize(actions);
      if (action_count > kMaxActionCount) {
        fail(name, {row, column}, fmt::format("more than {} actions", kMaxActionCount));
      }
    });
    if (cells.ranks.back().empty()) {
      fail(name, {row, 1}, "expected this rank's actions, found an empty line");
    }
  });
  return cells;
}

/// The schedule's counts and each stage's rank, from the actions; refuses what would have gaps.
Schedule infer_placement(const Cells& cells, const std::string& name) {
  std::int64_t action_count = 0;
  for (const std::vector<Action>& actions : cells.ranks) action_count += std::ssize(actions);
  Schedule schedule;
  schedule.name = "custom";
  const auto place_of = [&](std::size_t rank, std::size_t position) {
    return Place{static_cast<int>(rank) + 1, cells.columns[rank][position]};
  };
  for (std::size_t rank = 0; rank < cells.ranks.size(); ++rank) {
    for (std::size_t position = 0; position < cells.ranks[rank].size(); ++position) {
      const Action& action = cells.ranks[rank][position];
      const auto stage = static_cast<std::size_t>(action.stage);
      // Every stage and every micro-batch needs actions of its own: a larger number leaves a gap.
      if (action.stage >= action_count || action.micro_batch >= action_count) {
        fail(name, place_of(rank, position),
             fmt::format("{} leaves a gap: the whole text has {} actions", to_text(action),
                         action_count));
      }
      if (stage >= schedule.rank_of_stage.size()) schedule.rank_of_stage.resize(stage + 1, -1);
      int& owner = schedule.rank_of_stage[stage];
      if (owner >= 0 && owner != static_cast<int>(rank)) {
        fail(name, place_of(rank, position),
             fmt::format("{}: stage {} already stands on rank {}", to_text(action), stage, owner));
      }
      owner = static_cast<int>(rank);
      schedule.micro_batch_count = std::max(schedule.micro_batch_count, action.micro_batch + 1);
    }
  }
  const auto missing = std::ranges::find(schedule.rank_of_stage, -1);
  if (missing != schedule.rank_of_stage.end()) {
    fail(name, {1, 1},
         fmt::format("stage {} has no action, but stage {} has",
                     missing - schedule.rank_of_stage.begin(), schedule.stage_count() - 1));
  }
  return schedule;
}

}  // namespace

std::string to_text(const Action& action) {
  const auto word =
      std::ranges::find(kWords, action.kind, &std::pair<std::string_view, ActionKind>::second);
  return fmt::format("{}{}{}", action.stage, word->first, action.micro_batch);
}

std::vector<std::string> to_lines(const Schedule& schedule) {
  std::vector<std::string> lines;
  for (const std::vector<Action>& actions : schedule.ranks) {
    std::string& line = lines.emplace_back();
    for (std::size_t position = 0; position < actions.size(); ++position) {
      if (!line.empty()) line += ',';
      if (actions[position].overlapped && position + 1 < actions.size()) {
        line += '(' + to_text(actions[position]) + ';' + to_text(actions[position + 1]) + ')';
        line += kOverlap;
        ++position;
      } else {
        line += to_text(actions[position]);
      }
    }
  }
  return lines;
}

std::string to_csv(const Schedule& schedule) {
  std::string text;
  for (const std::string& line : to_lines(schedule)) text += line + '\n';
  return text;
}

Schedule from_csv(std::string_view text, const std::string& name) {
  Cells cells = read_cells(text, name);
  Schedule schedule = infer_placement(cells, name);
  schedule.ranks = std::move(cells.ranks);
  if (const std::optional<ScheduleFault> fault = check(schedule)) {
    const std::vector<int>& columns = cells.columns[static_cast<std::size_t>(fault->rank)];
    const auto position = static_cast<std::size_t>(fault->position);
    // A missing action is told at the end of its rank's line.
    const int column = position < columns.size() ? columns[position] : columns.back();
    fail(name, {fault->rank + 1, column}, fault->message, fault->hint);
  }
  return schedule;
}

}  // namespace ppplan::planner
