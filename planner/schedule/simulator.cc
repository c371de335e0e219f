#include "planner/schedule/simulator.h"

#include "planner/schedule/walk.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>

namespace ppplan::planner {
namespace {

/// Finds the cost of an action; [stage][class] laid flat.
class CostTable {
 public:
  explicit CostTable(const ScheduleCosts& costs)
      : class_of_micro_batch_(costs.class_of_micro_batch),
        class_count_(costs.stages.empty() ? 0 : costs.stages.front().size()) {
    for (const std::vector<StageCost>& classes : costs.stages) {
      assert(classes.size() == class_count_);
      for (const StageCost& cost : classes) costs_.push_back(&cost);
    }
  }

  [[nodiscard]] const StageCost& of(std::int32_t stage, std::int32_t micro_batch) const {
    const int class_index = class_of_micro_batch_[static_cast<std::size_t>(micro_batch)];
    return *costs_[static_cast<std::size_t>(stage) * class_count_ +
                   static_cast<std::size_t>(class_index)];
  }

 private:
  const std::vector<int>& class_of_micro_batch_;
  std::size_t class_count_;
  std::vector<const StageCost*> costs_;
};

Seconds duration(const Action& action, const StageCost& cost) {
  switch (action.kind) {
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

/// Runs one step on ranks that become free at `free`, which is moved on; calls record(rank, timed
/// action) for each action. False when the order is cyclic.
template <typename Record>
bool run_step(const Schedule& schedule, const ScheduleCosts& costs, std::vector<Seconds>& free,
              Record&& record) {
  const CostTable table(costs);
  std::vector<Seconds> arrival(ResultIndex(schedule).size());
  const std::vector<int>& rank_of_stage = schedule.rank_of_stage;
  const auto run = [&](int rank, const Action& action, const ActionResults& results) {
    const StageCost& cost = table.of(action.stage, action.micro_batch);
    Seconds start = free[static_cast<std::size_t>(rank)];
    if (results.needed != ActionResults::kNone) start = std::max(start, arrival[results.needed]);
    const Seconds finish = start + duration(action, cost) + costs.call_overhead;
    free[static_cast<std::size_t>(rank)] = finish;
    record(rank, TimedAction{action, start, finish});
    if (results.made == ActionResults::kNone) return;
    const bool onwards = action.kind == ActionKind::kForward;
    const auto user = static_cast<std::size_t>(action.stage) + (onwards ? 1 : SIZE_MAX);
    const bool travels = user < rank_of_stage.size() && rank_of_stage[user] != rank;
    const Seconds transfer = onwards ? cost.send_activation : cost.send_gradient;
    arrival[results.made] = travels ? finish + transfer : finish;
  };
  const std::vector<std::size_t> reached = walk(schedule, run);
  return std::ranges::equal(reached, schedule.ranks, {}, {}, &std::vector<Action>::size);
}

}  // namespace

ScheduleCosts uniform_costs(const Schedule& schedule, const RankTimes& times) {
  std::vector<int> stages_of_rank(schedule.ranks.size(), 0);
  for (const int rank : schedule.rank_of_stage) ++stages_of_rank[static_cast<std::size_t>(rank)];
  ScheduleCosts costs;
  costs.class_of_micro_batch.assign(static_cast<std::size_t>(schedule.micro_batch_count), 0);
  for (const int rank : schedule.rank_of_stage) {
    const double share = 1.0 / stages_of_rank[static_cast<std::size_t>(rank)];
    StageCost cost;
    cost.forward = times.forward * share;
    cost.backward_input = times.backward_input * share;
    cost.backward_weight = times.backward_weight * share;
    cost.backward = cost.backward_input + cost.backward_weight;
    cost.send_activation = times.transfer;
    cost.send_gradient = times.transfer;
    costs.stages.push_back({cost});
  }
  return costs;
}

double Timeline::bubble() const {
  if (makespan <= Seconds(0)) return 0.0;
  Seconds total{0};
  for (const Seconds time : busy) total += time;
  return 1.0 - total / (makespan * static_cast<double>(busy.size()));
}

Timeline simulate(const Schedule& schedule, const ScheduleCosts& costs) {
  Timeline timeline;
  timeline.ranks.resize(schedule.ranks.size());
  timeline.busy.assign(schedule.ranks.size(), Seconds(0));
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    timeline.ranks[rank].reserve(schedule.ranks[rank].size());
  }
  std::vector<Seconds> free(schedule.ranks.size(), Seconds(0));
  run_step(schedule, costs, free, [&](int rank, const TimedAction& timed) {
    timeline.ranks[static_cast<std::size_t>(rank)].push_back(timed);
    timeline.busy[static_cast<std::size_t>(rank)] += timed.finish - timed.start;
  });
  timeline.makespan = *std::ranges::max_element(free);
  return timeline;
}

Seconds makespan(const Schedule& schedule, const ScheduleCosts& costs) {
  std::vector<Seconds> free(schedule.ranks.size(), Seconds(0));
  const bool whole = run_step(schedule, costs, free, [](int, const TimedAction&) {});
  return whole ? *std::ranges::max_element(free) : Seconds(std::numeric_limits<double>::infinity());
}

Seconds steady_period(const Schedule& schedule, const ScheduleCosts& costs) {
  constexpr int kMostSteps = 64;
  std::vector<Seconds> free(schedule.ranks.size(), Seconds(0));
  std::vector<Seconds> ends;
  for (int step = 0; step < kMostSteps; ++step) {
    const std::vector<Seconds> before = free;
    run_step(schedule, costs, free, [](int, const TimedAction&) {});
    ends.push_back(*std::ranges::max_element(free));
    const Seconds period = free[0] - before[0];
    bool settled = true;
    for (std::size_t rank = 0; rank < free.size(); ++rank) {
      settled = settled && std::abs((free[rank] - before[rank]) / period - 1.0) < 1e-9;
    }
    if (settled) return period;
  }
  constexpr std::size_t kHalf = kMostSteps / 2;  // every rank in a rhythm of several steps
  return (ends.back() - ends[kHalf - 1]) / static_cast<double>(kHalf);
}

}  // namespace ppplan::planner
