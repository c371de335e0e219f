#include "planner/step_account.h"

#include "planner/schedule/analysis.h"
#include "planner/schedule/walk.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace ppplan::planner {
namespace {

std::size_t index_of(int at) {
  return static_cast<std::size_t>(at);
}

Seconds time_of(const StageCost& cost, ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward:
      return cost.forward;
    case ActionKind::kBackward:
      return cost.backward;
    case ActionKind::kBackwardInput:
      return cost.backward_input;
    case ActionKind::kBackwardWeight:
      return cost.backward_weight;
    default:
      return Seconds(0);
  }
}

}  // namespace

ActionAccount::ActionAccount(const PricedAgain& plan) : plan_(plan) {
  const CostBasis& basis = plan.candidate->basis();
  const std::vector<int>& rank_of_stage = plan.candidate->schedule().rank_of_stage;
  for (std::size_t stage = 0; stage + 1 < plan.cut.size(); ++stage) {
    const int first = plan.cut[stage];
    const int last = plan.cut[stage + 1];
    const RecomputeChoice& choice = plan.evaluation.recompute[stage];
    Stage& costs = stages_.emplace_back();
    costs.slowdown = basis.slowdown[index_of(rank_of_stage[stage])];
    for (int index = 0; index < basis.chain().class_count(); ++index) {
      costs.all.push_back(basis.chain().stage(first, last, index, choice));
      costs.unlinked.push_back(plan.unlinked.stage(first, last, index, choice));
      costs.bare.push_back(plan.unlinked.stage(first, last, index));
    }
  }
}

ActionParts ActionAccount::of(const Action& action) const {
  if (is_communication(action.kind)) return {};
  const CostBasis& basis = plan_.candidate->basis();
  const Stage& stage = stages_[index_of(action.stage)];
  const auto index = index_of(basis.batch.class_of_micro_batch[index_of(action.micro_batch)]);
  const Seconds bare = time_of(stage.bare[index], action.kind) * stage.slowdown;
  const Seconds unlinked = time_of(stage.unlinked[index], action.kind) * stage.slowdown;
  const Seconds all = time_of(stage.all[index], action.kind) * stage.slowdown;
  return {bare, all - unlinked, unlinked - bare, basis.call_overhead};
}

StepParts step_parts(const PricedAgain& plan) {
  const Schedule& schedule = plan.candidate->schedule();
  const Evaluation& evaluation = plan.evaluation;
  const ActionAccount account(plan);
  ActionParts sum;
  for (const std::vector<Action>& actions : schedule.ranks) {
    for (const Action& action : actions) sum += account.of(action);
  }
  const BubbleCauses bubble =
      bubble_causes(schedule, plan.candidate->costs(plan.cut), evaluation.timeline);
  const double ranks = schedule.rank_count();
  return {.work = sum.work / ranks,
          .sharing = sum.sharing / ranks,
          .recompute = sum.recompute / ranks,
          .calls = sum.calls / ranks,
          .fill = bubble.fill / ranks,
          .drain = bubble.drain / ranks,
          .imbalance = bubble.imbalance / ranks,
          .transfer = bubble.transfer / ranks,
          .reduction = std::ranges::max(evaluation.reduction),
          .optimizer = std::ranges::max(evaluation.optimizer),
          .overhead = plan.candidate->basis().step_overhead};
}

namespace {

Seconds with_equal_ranks(const Schedule& schedule, ScheduleCosts costs, const Timeline& timeline) {
  const Seconds mean = std::accumulate(timeline.busy.begin(), timeline.busy.end(), Seconds(0)) /
                       static_cast<double>(timeline.busy.size());
  for (std::size_t stage = 0; stage < costs.stages.size(); ++stage) {
    const Seconds busy = timeline.busy[index_of(schedule.rank_of_stage[stage])];
    const double scale = busy > Seconds(0) ? mean / busy : 0.0;
    for (StageCost& cost : costs.stages[stage]) {
      for (Seconds* time :
           {&cost.forward, &cost.backward, &cost.backward_input, &cost.backward_weight}) {
        *time = (*time + costs.call_overhead) * scale;
      }
    }
  }
  costs.call_overhead = Seconds(0);
  return makespan(schedule, costs);
}

Seconds with_instant_transfers(const Schedule& schedule, ScheduleCosts costs) {
  for (std::vector<StageCost>& classes : costs.stages) {
    for (StageCost& cost : classes) cost.send_activation = cost.send_gradient = Seconds(0);
  }
  return makespan(schedule, costs);
}

/// The times of other layer costs, or of another choice of what is recomputed.
Seconds with_layers(const PricedAgain& plan, ScheduleCosts costs, const ChainCosts& chain,
                    const std::vector<RecomputeChoice>& choices) {
  const CostBasis& basis = plan.candidate->basis();
  const Schedule& schedule = plan.candidate->schedule();
  for (std::size_t stage = 0; stage < costs.stages.size(); ++stage) {
    const double slowdown = basis.slowdown[index_of(schedule.rank_of_stage[stage])];
    for (std::size_t index = 0; index < costs.stages[stage].size(); ++index) {
      StageCost& cost = costs.stages[stage][index];
      const StageCost other = chain.stage(plan.cut[stage], plan.cut[stage + 1],
                                          static_cast<int>(index), choices[stage]);
      cost.forward = other.forward * slowdown;
      cost.backward = other.backward * slowdown;
      cost.backward_input = other.backward_input * slowdown;
      cost.backward_weight = other.backward_weight * slowdown;
    }
  }
  return makespan(schedule, costs);
}

}  // namespace

std::vector<Relief> reliefs(const PricedAgain& plan, const StepParts& parts) {
  const Schedule& schedule = plan.candidate->schedule();
  const Evaluation& evaluation = plan.evaluation;
  const ScheduleCosts costs = plan.candidate->costs(plan.cut);
  const Seconds step = evaluation.step;
  const std::vector<RecomputeChoice> nothing(evaluation.recompute.size());
  const Seconds beside = step - evaluation.timeline.makespan;
  std::vector<Relief> reliefs{
      {Obstacle::kCompute, with_equal_ranks(schedule, costs, evaluation.timeline) + beside},
      {Obstacle::kMemory,
       with_layers(plan, costs, plan.candidate->basis().chain(), nothing) + beside},
      {Obstacle::kSharing, with_layers(plan, costs, plan.unlinked, evaluation.recompute) + beside},
      {Obstacle::kTransfer, with_instant_transfers(schedule, costs) + beside},
      {Obstacle::kReduction, step - parts.reduction},
      {Obstacle::kPipeline, step - parts.fill - parts.drain},
  };
  std::ranges::stable_sort(reliefs, {}, &Relief::step);
  return reliefs;
}

}  // namespace ppplan::planner
