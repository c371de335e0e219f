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

Ends ends_of(const std::vector<TimedAction>& actions, Seconds makespan) {
  const auto is_forward = [](const TimedAction& timed) {
    return timed.action.kind == ActionKind::kForward;
  };
  const auto first_backward = std::ranges::find_if_not(actions, is_forward);
  std::size_t last_forward = actions.size();
  while (last_forward > 0 && !is_forward(actions[last_forward - 1])) --last_forward;
  const auto drain_from =
      std::max(last_forward, static_cast<std::size_t>(first_backward - actions.begin()) + 1);
  Ends ends;
  Seconds free{0};
  for (std::size_t position = 0; position < actions.size(); ++position) {
    const Seconds gap = actions[position].start - free;
    if (position <= static_cast<std::size_t>(first_backward - actions.begin())) ends.fill += gap;
    if (position >= drain_from) ends.drain += gap;
    free = actions[position].finish;
  }
  ends.drain += makespan - free;
  return ends;
}

}  // namespace

BubbleCauses bubble_causes(const Schedule& schedule, const ScheduleCosts& costs,
                           const Timeline& timeline) {
  const ScheduleCosts instant = without_transfers(costs);
  const Timeline unsent = simulate(schedule, instant);
  const Timeline equal = simulate(schedule, with_equal_ranks(schedule, instant, unsent));
  BubbleCauses causes;
  for (const std::vector<TimedAction>& actions : equal.ranks) {
    const Ends ends = ends_of(actions, equal.makespan);
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
  for (const std::vector<TimedAction>& actions : timeline.ranks) {
    for (const auto& [action, start, finish] : actions) {
      const ActionResults results = results_of(action, index, schedule.stage_count());
      if (results.made != ActionResults::kNone) made[results.made] = finish;
    }
  }
  std::vector<Seconds> exposed;
  for (const std::vector<TimedAction>& actions : timeline.ranks) {
    Seconds& of_rank = exposed.emplace_back(Seconds(0));
    Seconds free{0};
    for (const auto& [action, start, finish] : actions) {
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
