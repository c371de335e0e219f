#include "planner/schedule/simulator.h"

#include "planner/schedule/walk.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>

namespace ppplan::planner {
namespace {

constexpr Seconds kNever(std::numeric_limits<double>::infinity());

/// Times of one stage and class, laid side by side: what each kind of action takes (communication
/// takes no time of its own), then how long its result travels to another rank.
struct ActionTimes {
  explicit ActionTimes(const StageCost& cost, Seconds call_overhead)
      : taken{cost.forward + call_overhead, cost.backward + call_overhead,
              cost.backward_input + call_overhead, cost.backward_weight + call_overhead},
        activation(cost.send_activation),
        gradient(cost.send_gradient) {}

  std::array<Seconds, 8> taken;  ///< by ActionKind
  Seconds activation;
  Seconds gradient;
};

/// Runs one step on ranks that become free at `free`, which is moved on; calls record(rank,
/// interval) for each action. False when the order is cyclic.
template <typename Record>
bool run_step(const Schedule& schedule, const ScheduleCosts& costs, std::vector<Seconds>& free,
              Record&& record) {
  const std::size_t class_count = costs.stages.empty() ? 0 : costs.stages.front().size();
  std::vector<ActionTimes> table;  // [stage][class]
  for (const std::vector<StageCost>& classes : costs.stages) {
    assert(classes.size() == class_count);
    for (const StageCost& cost : classes) table.emplace_back(cost, costs.call_overhead);
  }
  const auto run = [&](const Step<Seconds>& step) {
    const auto micro_batch = static_cast<std::size_t>(step.action.micro_batch);
    const auto class_index = static_cast<std::size_t>(costs.class_of_micro_batch[micro_batch]);
    const auto stage = static_cast<std::size_t>(step.action.stage);
    const ActionTimes& times = table[stage * class_count + class_index];
    Seconds& free_at = free[static_cast<std::size_t>(step.rank)];
    const Seconds start = std::max(free_at, step.input);
    free_at = start + times.taken[static_cast<std::size_t>(step.action.kind)];
    record(step.rank, Interval{start, free_at});
    if (!step.travels) return free_at;
    const bool onwards = step.action.kind == ActionKind::kForward;
    return free_at + (onwards ? times.activation : times.gradient);
  };
  const std::vector<std::size_t> reached = walk(schedule, kNever, run);
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
  run_step(schedule, costs, free, [&](int rank, const Interval& interval) {
    timeline.ranks[static_cast<std::size_t>(rank)].push_back(interval);
    timeline.busy[static_cast<std::size_t>(rank)] += interval.finish - interval.start;
  });
  timeline.makespan = *std::ranges::max_element(free);
  return timeline;
}

Seconds makespan(const Schedule& schedule, const ScheduleCosts& costs) {
  std::vector<Seconds> free(schedule.ranks.size(), Seconds(0));
  const bool whole = run_step(schedule, costs, free, [](int, const Interval&) {});
  return whole ? *std::ranges::max_element(free) : kNever;
}

Seconds steady_period(const Schedule& schedule, const ScheduleCosts& costs) {
  constexpr int kMostSteps = 64;
  std::vector<Seconds> free(schedule.ranks.size(), Seconds(0));
  std::vector<Seconds> ends;
  for (int step = 0; step < kMostSteps; ++step) {
    const std::vector<Seconds> before = free;
    run_step(schedule, costs, free, [](int, const Interval&) {});
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
