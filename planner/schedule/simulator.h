// Simulates an action list: when each action starts and ends, how long each rank waits, and how
// much memory each rank holds.
#pragma once

#include "planner/schedule/schedule.h"
#include "reports/documents/units.h"

#include <vector>

namespace ppplan::planner {

/// What one stage costs for one micro-batch of one class (micro-batches of equal shape share one).
struct StageCost {
  Seconds forward{0};
  Seconds backward{0};
  Seconds backward_input{0};
  Seconds backward_weight{0};
  Seconds send_activation{0};  ///< transfer of the output to the next stage; within a rank not used
  Seconds send_gradient{0};    ///< transfer of the input gradient to the previous stage
  Bytes saved;                 ///< held from forward to backward (the received input included)
  Bytes forward_peak;          ///< most above the level at which forward starts
  Bytes backward_peak;         ///< most above the level at which backward starts
  Bytes weight_pending;        ///< held from input-gradient to weight-gradient backward
  Bytes output;                ///< boundary tensor; its gradient has the same size
};

struct ScheduleCosts {
  std::vector<std::vector<StageCost>> stages;  ///< [stage][class]
  std::vector<int> class_of_micro_batch;       ///< size = micro-batch count
  Seconds call_overhead{0};                    ///< added to every compute action
};

/// What one micro-batch costs on every rank alike, whatever the number of stages a rank has.
struct RankTimes {
  Seconds forward{1};
  Seconds backward_input{1};
  Seconds backward_weight{1};
  Seconds transfer{0};  ///< of one tensor to another rank
};

/// Costs in which each stage takes its share of its rank's times (one class; no memory).
ScheduleCosts uniform_costs(const Schedule& schedule, const RankTimes& times);

/// When one action runs.
struct Interval {
  Seconds start{0};
  Seconds finish{0};
};

struct Timeline {
  /// [rank][position] is when the schedule's action of that place runs; communication takes no
  /// time. (Times alone: writing them to fresh memory is most of what a long simulation costs.)
  std::vector<std::vector<Interval>> ranks;
  std::vector<Seconds> busy;  ///< by rank: time computing
  Seconds makespan{0};
  /// 1 - sum(busy) / (ranks * makespan); 0 for an empty timeline.
  [[nodiscard]] double bubble() const;
};

/// What a rank holds besides parameters, gradients and optimizer state, at its fullest moment.
struct RankMemory {
  Bytes activations;
  Bytes transient;
  Bytes buffers;
  int in_flight = 0;  ///< most (stage, micro-batch) pairs held at once
  [[nodiscard]] Bytes total() const { return activations + transient + buffers; }
};

/// Simulates a schedule that the checker passes (its communication actions take no time of their
/// own): an action starts when its rank is free and its inputs have arrived; a transfer delays its
/// receiver and not its sender. Full and input-gradient backwards send their gradient when they
/// finish. Deterministic; O(actions).
Timeline simulate(const Schedule& schedule, const ScheduleCosts& costs);

/// The makespan alone: what `simulate` gives, without its timeline. Infinite for a cyclic order.
Seconds makespan(const Schedule& schedule, const ScheduleCosts& costs);

/// Time from step to step when steps follow each other without a barrier (no rank waits for the
/// others before its optimizer step, as with post-validation; Qi et al. 2023, section 4): never
/// more than the makespan. Found by running steps until every rank advances alike; where the rhythm
/// takes several steps, their mean. O(steps * actions), at most 64 steps.
Seconds steady_period(const Schedule& schedule, const ScheduleCosts& costs);

/// Follows each rank's own order: a forward adds `saved`, a full or weight-gradient backward frees
/// it; an input-gradient backward adds `weight_pending` until its weight-gradient backward.
/// Buffers: the incoming gradient of a backward, and what the rank's action before sent to another
/// rank. Of moments equally full the first counts. O(actions).
std::vector<RankMemory> memory_peaks(const Schedule& schedule, const ScheduleCosts& costs);
/// Of one rank alone. O(its actions).
RankMemory memory_peak(const Schedule& schedule, const ScheduleCosts& costs, int rank);

}  // namespace ppplan::planner
