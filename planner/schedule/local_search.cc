#include "planner/schedule/local_search.h"

#include "planner/schedule/walk.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace ppplan::planner {
namespace {

/// Takes the action at `from` of a rank to the place `to`; those between move by one.
struct Move {
  int rank = 0;
  std::size_t from = 0;
  std::size_t to = 0;
};

/// An action of the timeline.
struct Spot {
  std::size_t rank = 0;
  std::size_t position = 0;
};

void apply(Schedule& schedule, const Move& move) {
  const auto begin = schedule.ranks[static_cast<std::size_t>(move.rank)].begin();
  const auto from = begin + static_cast<std::ptrdiff_t>(move.from);
  const auto to = begin + static_cast<std::ptrdiff_t>(move.to);
  if (to < from) {
    std::rotate(to, from, from + 1);
  } else {
    std::rotate(from, from + 1, to + 1);
  }
}

Move inverse(const Move& move) {
  return {move.rank, move.to, move.from};
}

/// True when `second` may not run before `first`: it uses, on the same rank, what `first` makes.
bool depends(const Action& second, const Action& first) {
  if (first.micro_batch != second.micro_batch) return false;
  if (first.stage == second.stage) return true;
  if (first.kind == ActionKind::kForward && second.kind == ActionKind::kForward) {
    return second.stage == first.stage + 1;
  }
  return makes_gradient(first.kind) && makes_gradient(second.kind) &&
         second.stage == first.stage - 1;
}

/// The chain of actions that decides the makespan, last one first.
std::vector<Spot> critical_path(const Schedule& schedule, const Timeline& timeline) {
  const ResultIndex index(schedule);
  std::vector<Spot> maker(index.size());
  Spot at;
  Seconds latest{-1};
  for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    const std::vector<Action>& actions = schedule.ranks[rank];
    for (std::size_t position = 0; position < actions.size(); ++position) {
      const ActionResults made = results_of(actions[position], index, schedule.stage_count());
      if (made.made != ActionResults::kNone) maker[made.made] = {rank, position};
    }
    if (!actions.empty() && timeline.ranks[rank].back().finish > latest) {
      latest = timeline.ranks[rank].back().finish;
      at = {rank, actions.size() - 1};
    }
  }
  std::vector<Spot> path{at};
  for (;;) {
    const std::vector<Interval>& intervals = timeline.ranks[at.rank];
    const bool follows =
        at.position > 0 && intervals[at.position - 1].finish == intervals[at.position].start;
    const ActionResults results =
        results_of(schedule.ranks[at.rank][at.position], index, schedule.stage_count());
    if (follows) {
      --at.position;
    } else if (results.needed != ActionResults::kNone) {
      at = maker[results.needed];
    } else {
      return path;
    }
    path.push_back(at);
  }
}

/// Moves that may shorten the path: at the borders of its blocks (runs on one rank), and of its
/// weight gradients into earlier gaps.
std::vector<Move> moves_along(const std::vector<Spot>& path, const Schedule& schedule,
                              const Timeline& timeline) {
  std::vector<Move> moves;
  const auto swap_with_next = [&](const Spot& first) {
    const std::vector<Action>& actions = schedule.ranks[first.rank];
    if (depends(actions[first.position + 1], actions[first.position])) return;
    moves.push_back({static_cast<int>(first.rank), first.position, first.position + 1});
  };
  const auto continues = [&](std::size_t step) {  // path[step + 1] runs right before path[step]
    return step + 1 < path.size() && path[step + 1].rank == path[step].rank &&
           path[step + 1].position + 1 == path[step].position;
  };
  for (std::size_t step = 0; step < path.size(); ++step) {
    const bool starts_block = step == 0 || !continues(step - 1);
    const bool ends_block = continues(step) && !continues(step + 1);
    if (continues(step) && (starts_block || ends_block)) swap_with_next(path[step + 1]);
    const Spot& spot = path[step];
    const std::vector<Action>& actions = schedule.ranks[spot.rank];
    const std::vector<Interval>& intervals = timeline.ranks[spot.rank];
    if (actions[spot.position].kind != ActionKind::kBackwardWeight) continue;
    for (std::size_t to = spot.position; to-- > 1;) {
      if (depends(actions[spot.position], actions[to])) break;
      if (intervals[to].start > intervals[to - 1].finish) {
        moves.push_back({static_cast<int>(spot.rank), spot.position, to});
      }
    }
  }
  return moves;
}

class TabuSearch {
 public:
  TabuSearch(Schedule start, const ScheduleCosts& costs, const SearchLimits& limits)
      : current_(std::move(start)), costs_(costs), limits_(limits) {
    for (const std::vector<Action>& actions : current_.ranks) {
      action_count_ += std::ssize(actions);
    }
    best_ = {current_, makespan(current_, costs_)};
  }

  Improved run() {
    constexpr int kPatience = 300;  // rounds without a better order
    for (int idle = 0; idle < kPatience && affordable(); ++idle) {
      const Timeline timeline = simulate(current_, costs_);
      work_ += action_count_;
      const std::optional<Move> move = best_move(timeline);
      if (!move) break;
      forbid_return(*move);
      apply(current_, *move);
      if (move_makespan_ < best_.makespan * (1.0 - 1e-9)) {
        best_ = {current_, move_makespan_};
        idle = 0;
      }
    }
    return std::move(best_);
  }

 private:
  [[nodiscard]] bool affordable() const {
    return work_ + action_count_ <= limits_.simulated_actions;
  }

  /// The move to the shortest order, tabu ones only when they lead to the best so far.
  std::optional<Move> best_move(const Timeline& timeline) {
    std::optional<Move> best;
    for (const Move& move : moves_along(critical_path(current_, timeline), current_, timeline)) {
      if (!affordable()) break;
      apply(current_, move);
      const bool fits = keeps_memory(move.rank);
      const Seconds length = fits ? makespan(current_, costs_) : Seconds(0);
      apply(current_, inverse(move));
      if (!fits) continue;
      work_ += action_count_;
      if (is_tabu(move) && length >= best_.makespan) continue;
      if (best && length >= move_makespan_) continue;
      best = move;
      move_makespan_ = length;
    }
    return best && move_makespan_ < Seconds(kInfinite) ? best : std::nullopt;
  }

  [[nodiscard]] bool keeps_memory(int rank) const {
    if (limits_.memory.empty()) return true;
    return memory_peak(current_, costs_, rank).total() <=
           limits_.memory[static_cast<std::size_t>(rank)];
  }

  /// Exchanges whose result was undone lately: the pair (first, second) may not be restored.
  [[nodiscard]] bool is_tabu(const Move& move) const {
    const std::vector<Action>& actions = current_.ranks[static_cast<std::size_t>(move.rank)];
    const std::pair<Action, Action> restored{actions[std::max(move.from, move.to)],
                                             actions[std::min(move.from, move.to)]};
    return std::ranges::find(tabu_, restored) != tabu_.end();
  }

  void forbid_return(const Move& move) {
    constexpr std::size_t kTenure = 12;
    const std::vector<Action>& actions = current_.ranks[static_cast<std::size_t>(move.rank)];
    tabu_.emplace_back(actions[std::min(move.from, move.to)],
                       actions[std::max(move.from, move.to)]);
    if (tabu_.size() > kTenure) tabu_.pop_front();
  }

  static constexpr double kInfinite = 1e300;
  Schedule current_;
  const ScheduleCosts& costs_;
  const SearchLimits& limits_;
  std::int64_t action_count_ = 0;
  std::int64_t work_ = 0;
  Seconds move_makespan_{0};
  Improved best_;
  std::deque<std::pair<Action, Action>> tabu_;  ///< pairs that stood in this order
};

}  // namespace

Improved improve(Schedule start, const ScheduleCosts& costs, const SearchLimits& limits) {
  for (std::vector<Action>& actions : start.ranks) {
    for (Action& action : actions) action.overlapped = false;  // moves would part the pairs
  }
  return TabuSearch(std::move(start), costs, limits).run();
}

}  // namespace ppplan::planner
