#include "planner/critical_path.h"

#include "planner/step_account.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>
#include <vector>

namespace ppplan::planner {
namespace {

std::size_t index_of(int at) {
  return static_cast<std::size_t>(at);
}

/// One action of the critical path.
struct PathStep {
  int rank = 0;
  std::size_t position = 0;
  Seconds arrival{0};  ///< of it: the time that its input was on its way
};

/// Follows a timeline backwards.
class PathFinder {
 public:
  PathFinder(const Schedule& schedule, const ScheduleCosts& costs, const Timeline& timeline)
      : schedule_(schedule),
        costs_(costs),
        timeline_(timeline),
        forward_(places()),
        backward_(places()) {
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      for (std::size_t at = 0; at < schedule.ranks[rank].size(); ++at) {
        const Action& action = schedule.ranks[rank][at];
        if (action.kind == ActionKind::kForward) place(forward_, action) = at;
        if (sends_gradient(action)) place(backward_, action) = at;
      }
    }
  }

  /// The last action first.
  std::vector<PathStep> path() {
    std::vector<PathStep> path{last_action()};
    while (const std::optional<PathStep> next = waited_for(path.back())) path.push_back(*next);
    return path;
  }

 private:
  using Places = std::vector<std::vector<std::size_t>>;  ///< [stage][micro-batch]: position

  static bool sends_gradient(const Action& action) {
    return action.kind == ActionKind::kBackward || action.kind == ActionKind::kBackwardInput;
  }
  [[nodiscard]] Places places() const {
    return Places(schedule_.rank_of_stage.size(),
                  std::vector<std::size_t>(index_of(schedule_.micro_batch_count), 0));
  }
  static std::size_t& place(Places& places, const Action& action) {
    return places[index_of(action.stage)][index_of(action.micro_batch)];
  }
  [[nodiscard]] Seconds finish(int rank, std::size_t position) const {
    return timeline_.ranks[index_of(rank)][position].finish;
  }

  [[nodiscard]] PathStep last_action() const {
    std::optional<PathStep> last;
    for (int rank = 0; rank < schedule_.rank_count(); ++rank) {
      const std::size_t count = schedule_.ranks[index_of(rank)].size();
      if (count == 0) continue;
      if (!last || finish(rank, count - 1) > finish(last->rank, last->position)) {
        last = PathStep{rank, count - 1};
      }
    }
    assert(last);
    return *last;
  }

  /// The action that sends this one's input, and how long that travels.
  struct Sender {
    PathStep step;
    Seconds transfer{0};
  };
  [[nodiscard]] std::optional<Sender> sender(const Action& action) const {
    const bool forward = action.kind == ActionKind::kForward;
    const int stage = action.stage + (forward ? -1 : 1);
    if ((!forward && !sends_gradient(action)) || stage < 0 || stage >= schedule_.stage_count()) {
      return std::nullopt;
    }
    const int rank = schedule_.rank_of_stage[index_of(stage)];
    const Places& places = forward ? forward_ : backward_;
    const std::size_t position = places[index_of(stage)][index_of(action.micro_batch)];
    if (rank == schedule_.rank_of_stage[index_of(action.stage)]) return Sender{{rank, position}};
    const auto index = index_of(costs_.class_of_micro_batch[index_of(action.micro_batch)]);
    const StageCost& cost = costs_.stages[index_of(stage)][index];
    return Sender{{rank, position}, forward ? cost.send_activation : cost.send_gradient};
  }

  /// Empty for an action that starts the step. Notes in `step` how long its input travelled.
  std::optional<PathStep> waited_for(PathStep& step) const {
    std::optional<PathStep> before;
    Seconds free{0};
    if (step.position > 0) {
      before = PathStep{step.rank, step.position - 1};
      free = finish(step.rank, step.position - 1);
    }
    const Action& action = schedule_.ranks[index_of(step.rank)][step.position];
    const std::optional<Sender> from = sender(action);
    if (!from) return before;
    const Seconds sent = finish(from->step.rank, from->step.position);
    if (before && free >= sent + from->transfer) return before;
    step.arrival = from->transfer;
    return from->step;
  }

  const Schedule& schedule_;
  const ScheduleCosts& costs_;
  const Timeline& timeline_;
  Places forward_;
  Places backward_;
};

}  // namespace

CriticalPath critical_path(const PricedAgain& plan) {
  const Schedule& schedule = plan.candidate->schedule();
  const ActionAccount account(plan);
  const ScheduleCosts costs = plan.candidate->costs(plan.cut);
  const std::vector<PathStep> path = PathFinder(schedule, costs, plan.evaluation.timeline).path();
  std::vector<ActionParts> on_rank(schedule.ranks.size());
  CriticalPath result{.reduction = std::ranges::max(plan.evaluation.reduction),
                      .optimizer = std::ranges::max(plan.evaluation.optimizer),
                      .overhead = plan.candidate->basis().step_overhead};
  const auto parts_of = [&](const PathStep& step) {
    return account.of(schedule.ranks[index_of(step.rank)][step.position]);
  };
  for (const PathStep& step : path) {
    on_rank[index_of(step.rank)] += parts_of(step);
    result.transfer += step.arrival;
  }
  const auto binding = std::ranges::max_element(on_rank, {}, &ActionParts::total);
  result.rank = static_cast<int>(binding - on_rank.begin());
  result.work = binding->work;
  result.sharing = binding->sharing;
  result.recompute = binding->recompute;
  result.calls = binding->calls;
  const auto own = [&](const PathStep& step) { return step.rank == result.rank; };
  const auto latest = std::ranges::find_if(path, own);
  const auto earliest = std::find_if(path.rbegin(), path.rend(), own).base();
  for (auto step = path.begin(); step != path.end(); ++step) {
    if (own(*step)) continue;
    Seconds& share = step < latest ? result.drain : step >= earliest ? result.fill : result.between;
    share += parts_of(*step).total();
  }
  return result;
}

}  // namespace ppplan::planner
