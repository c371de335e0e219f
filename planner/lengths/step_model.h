// What a step costs whose micro-batches have shapes of their own: simulated time, the time lost
// because they differ, and memory with either kind of pool.
#pragma once

#include "planner/lengths/stage_surface.h"
#include "planner/partition.h"
#include "planner/schedule/generators.h"
#include "planner/schedule/micro_batching.h"
#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace ppplan::planner {

/// Time that a step loses because its micro-batches differ.
struct Stall {
  Seconds step{0};  ///< longer than the step whose micro-batches all take their mean time
  std::vector<Seconds> ranks;  ///< by rank: longer waits between its first and last action
};

/// Prices steps of one plan's cut and schedule. A micro-batch of padded rows costs what its shape
/// does; one packed row what its documents do, each by its length (ShapeGrid::in_row): attention
/// within documents, everything else by tokens.
class StepModel {
 public:
  /// Precondition: the plan's schedule is a named one. Throws Error(kBadInput) as StageSurface
  /// does.
  StepModel(const Profile& profile, const Planned& planned);

  [[nodiscard]] const StageSurface& surface() const { return surface_; }
  [[nodiscard]] int rank_count() const { return rank_count_; }

  /// The plan's schedule for so many micro-batches, or why it cannot serve them. Kept for later
  /// calls.
  const std::variant<Schedule, Unschedulable>& schedule(int micro_batch_count);

  /// The simulator's view of a step; one class for each distinct shape.
  /// Precondition: shapes lie within surface().grid().
  [[nodiscard]] ScheduleCosts costs(std::span<const MicroBatch> micro_batches,
                                    std::span<const std::int64_t> lengths) const;

  /// Makespan + reduction + optimizer + step overhead. O(actions), and likewise below.
  [[nodiscard]] Seconds step(const Schedule& schedule, const ScheduleCosts& costs) const;
  [[nodiscard]] Stall stall(const Schedule& schedule, const ScheduleCosts& costs) const;
  /// Peaks by rank, every buffer made for its own micro-batch; parameters, gradients and optimizer
  /// state included.
  [[nodiscard]] std::vector<Bytes> dynamic_peaks(const Schedule& schedule,
                                                 const ScheduleCosts& costs) const;
  /// The same with buffers of these sizes for every micro-batch.
  [[nodiscard]] std::vector<Bytes> static_peaks(const Schedule& schedule,
                                                const std::vector<StageCost>& largest) const;

 private:
  [[nodiscard]] std::vector<GridWeight> weights(const MicroBatch& micro_batch,
                                                std::span<const std::int64_t> lengths) const;

  StageSurface surface_;
  std::string schedule_name_;
  int rank_count_;
  int virtual_count_;
  Seconds call_overhead_;
  Seconds beyond_makespan_;
  std::vector<Bytes> kept_;  ///< by rank: parameters, gradients, optimizer state
  std::map<int, std::variant<Schedule, Unschedulable>> schedules_;
};

/// Raises each size of `largest` (by stage) to what a class of `costs` needs. Times stay.
void enlarge(std::vector<StageCost>& largest, const ScheduleCosts& costs);

}  // namespace ppplan::planner
