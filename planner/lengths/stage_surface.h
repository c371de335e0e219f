// What each stage of a cut costs for a micro-batch of any shape within what was measured.
#pragma once

#include "planner/partition.h"
#include "planner/schedule/shape_grid.h"
#include "planner/schedule/simulator.h"
#include "reports/documents/batching.h"
#include "reports/documents/profile.h"

#include <span>
#include <vector>

namespace ppplan::planner {

/// Stage costs at every measured (samples, length), interpolated in between: times, saved bytes and
/// boundary tensors as the sum of the layers' own would be; peaks at most too high, since the
/// highest of interpolated moments lies below the interpolation of highest ones.
class StageSurface {
 public:
  /// Of the plan's stages, with rows of the profile as CostTable chooses them. Lengths and sizes
  /// that were not measured for every kind are left out. Throws Error(kBadInput) when none are
  /// left.
  StageSurface(const Profile& profile, const Planned& planned);

  [[nodiscard]] const ShapeGrid& grid() const { return grid_; }
  [[nodiscard]] int stage_count() const { return static_cast<int>(stages_.size()); }
  /// The mean of the grid's points by weight; the weights add up to 1. O(weights).
  [[nodiscard]] StageCost stage(int stage, std::span<const GridWeight> weights) const;
  /// At every point of the grid, forward and backward of the rank that takes longest, calls'
  /// overhead included.
  [[nodiscard]] std::vector<ShapeTimes> slowest_times() const;

 private:
  std::vector<ShapeGrid::Row> rows_;
  ShapeGrid grid_;
  std::vector<std::vector<StageCost>> stages_;  ///< [stage][point]
  std::vector<int> rank_of_stage_;
  Seconds call_overhead_;
};

}  // namespace ppplan::planner
