#include "planner/schedule/analysis.h"

#include "planner/schedule/communication.h"
#include "planner/schedule/walk.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

namespace ppplan::planner {
namespace {

Seconds idle_of(const Timeline& timeline) {
  const Seconds busy = std::accumulate(timeline.busy.begin(), timeline.busy.end(), Seconds(0));
  return timeline.makespan * static_cast<double>(timeline.busy.size()) - busy;
}

ScheduleCosts without_transfers(ScheduleCosts costs) {
  for (std::vector<StageCost>& classes : costs.stages) {
    for (StageCost& cost : classes) cost.send_activation = cost.send_gradient = Seconds(0);
  }
  return costs;
}

/// Every rank as busy as the mean one: each stage's times are scaled by its rank's share. The call
/// overhead becomes part of the times.
ScheduleCosts with_equal_ranks(const Schedule& schedule, const ScheduleCosts& costs,
                               const Timeline& timeline) {
  const Seconds mean = std::accumulate(timeline.busy.begin(), timeline.busy.end(), Seconds(0)) /
                       static_cast<double>(timeline.busy.size());
  ScheduleCosts equal = costs;
  equal.call_overhead = Seconds(0);
  for (std::size_t stage = 0; stage < equal.stages.size(); ++stage) {
    const auto rank = static_cast<std::size_t>(schedule.rank_of_stage[stage]);
    const Seconds busy = timeline.busy[rank];
    const double scale = busy > Seconds(0) ? mean / busy : 0.0;
    for (StageCost& cost : equal.stages[stage]) {
      for (Seconds* time :
           {&cost.forward, &cost.backward, &cost.backward_input, &cost.backward_weight}) {
        *time = (*time + costs.call_overhead) * scale;
      }
    }
  }
  return equal;
}

/// Idle time of one rank before its first backward, and after both that and its last forward.
struct Ends {
  Seconds fill{0};
  Seconds drain{0};
};

Ends ends_of(const std::vector<Action>& actions, const std::vector<Interval>& intervals,
             Seconds makespan) {
  const auto is_forward = [](const Action& action) { return action.kind == ActionKind::kForward; };
  const auto is_backward = [&](const Action& action) {
    return !is_forward(action) && !is_communication(action.kind);
  };
  const auto first_backward =
      static_cast<std::size_t>(std::ranges::find_if(actions, is_backward) - actions.begin());
  std::size_t last_forward = actions.size();
  while (last_forward > 0 && !is_forward(actions[last_forward - 1])) --last_forward;
  const std::size_t drain_from = std::max(last_forward, first_backward + 1);
  Ends ends;
  Seconds free{0};
  for (std::size_t position = 0; position < intervals.size(); ++position) {
    const Seconds gap = intervals[position].start - free;
    if (position <= first_backward) ends.fill += gap;
    if (position >= drain_from) ends.drain += gap;
    free = intervals[position].finish;
  }
  ends.drain += makespan - free;
  return ends;
}

}  // namespace

BubbleCauses bubble_causes(const Schedule& schedule, const ScheduleCosts& costs,
                           const Timeline& timeline) {
  const ScheduleCosts instant = without_transfers(costs);
  Timeline unsent = simulate(schedule, instant);
  unsent.ranks.clear();  // its sums are needed, its intervals are large
  const Timeline equal = simulate(schedule, with_equal_ranks(schedule, instant, unsent));
  BubbleCauses causes;
  for (std::size_t rank = 0; rank < equal.ranks.size(); ++rank) {
    const Ends ends = ends_of(schedule.ranks[rank], equal.ranks[rank], equal.makespan);
    causes.fill += ends.fill;
    causes.drain += ends.drain;
  }
  causes.transfer = idle_of(timeline) - idle_of(unsent);
  causes.imbalance = idle_of(unsent) - causes.fill - causes.drain;
  return causes;
}

std::vector<Seconds> exposed_communication(const Schedule& schedule, const Timeline& timeline) {
  const ResultIndex index(schedule);
  std::vector<Seconds> made(index.size());
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (std::size_t position = 0; position < timeline.ranks[rank].size(); ++position) {
      const Action& action = schedule.ranks[rank][position];
      const ActionResults results = results_of(action, index, schedule.stage_count());
      if (results.made == ActionResults::kNone) continue;
      made[results.made] = timeline.ranks[rank][position].finish;
    }
  }
  std::vector<Seconds> exposed;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    Seconds& of_rank = exposed.emplace_back(Seconds(0));
    Seconds free{0};
    for (std::size_t position = 0; position < timeline.ranks[rank].size(); ++position) {
      const Action& action = schedule.ranks[rank][position];
      const auto& [start, finish] = timeline.ranks[rank][position];
      const ActionResults results = results_of(action, index, schedule.stage_count());
      const std::int32_t maker = action.stage + (action.kind == ActionKind::kForward ? -1 : 1);
      if (results.needed != ActionResults::kNone && apart(schedule, action.stage, maker)) {
        of_rank += std::max(Seconds(0), start - std::max(free, made[results.needed]));
      }
      free = finish;
    }
  }
  return exposed;
}

}  // namespace ppplan::planner
