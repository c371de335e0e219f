// One level of PipeDream's question: stages replicated over the units of a level, joined to
// pipelines.
#pragma once

#include "planner/graph/item_graph.h"
#include "planner/graph/stage_table.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppplan::planner {

/// Units (devices of a machine, or machines) joined by links of one bandwidth.
struct ReplicationLevel {
  int units = 1;
  double bytes_per_s = 1.0;
  int devices_per_unit = 1;          ///< that share a unit's part of a reduction
  bool replicates = true;            ///< else every stage has one unit
  double memory_bytes = kUnreached;  ///< for the copies of a stage in flight
};

/// Sums over ideals, and what leaves them.
struct PipelineSums {
  PipelineSums(const ItemGraph& graph, const Lattice& lattice);

  std::vector<double> time;  ///< s
  std::vector<double> bytes;
  std::vector<double> parameters;
  std::vector<double> leaving;  ///< bytes of tensors with a reader outside
};

/// What a stage of `time` (on one unit) takes on `replicas` units, s: (T + 4(r-1)P / (beta r)) / r,
/// the reduction shared by a unit's devices (Narayanan et al., SOSP 2019, section 3.1).
double replicated_time(const ReplicationLevel& level, double time, double parameters, int replicas);
/// How many copies a stage keeps with `later` units in the stages behind it: ceil(later / own), as
/// PipeDream's optimizer counts; none on the last stage.
int copies_in_flight(int later, int replicas);

/// The best pipelines from one ideal to every ideal above it, by units used.
class PipelineTable {
 public:
  using Ideal = Lattice::Ideal;

  /// Where pipelines may end; elsewhere `end` tells nothing.
  enum class Ends { kAnywhere, kAtFullIdeal };

  PipelineTable(const PipelineSums& sums, const ReplicationLevel& level, Ends ends);

  /// Forgets everything; pipelines now start after `start`, only those whose bottleneck is below
  /// `range.bound` count, and those below `range.floor` count as that.
  void restart(Ideal start, ValueRange range);
  void tighten(double bound) { range_.bound = bound; }
  [[nodiscard]] const ValueRange& range() const { return range_; }

  /// Whether another stage may start at `base`: drops states that are no better than one with fewer
  /// units, and those whose units left cannot take `rest` (the time of what is still to come).
  bool open(Ideal base, double rest);
  /// Adds the stage from the open base to `ideal`, which takes `time` on one unit. False when no
  /// larger stage from there can count either. O(units^2) at most, a few operations as a rule.
  bool relax(Ideal base, Ideal ideal, double time);

  /// The least bottleneck of a pipeline that ends at `ideal`, which then sends nothing on.
  [[nodiscard]] double end(Ideal ideal) const { return end_[ideal].value; }
  /// The ideals where pipelines end, in the order in which they were reached.
  [[nodiscard]] const std::vector<Ideal>& ended() const { return ended_; }
  /// Its stages; states are units used. Precondition: end(ideal) is reached.
  [[nodiscard]] std::vector<Segment> stages(Ideal ideal) const;
  [[nodiscard]] const ReplicationLevel& level() const { return level_; }
  /// Ways to use units that `relax` looked at.
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  struct End {
    double value = kUnreached;
    Ideal from = 0;
    std::uint32_t units_before = 0;
    std::uint32_t units = 0;
  };

  const PipelineSums& sums_;
  ReplicationLevel level_;
  Ends ends_;
  StageTable table_;
  std::vector<End> end_;
  std::vector<Ideal> ended_;
  Ideal start_ = 0;
  ValueRange range_;
  std::int64_t work_ = 0;
  std::vector<int> open_;  ///< units used, of the open base's states
};

}  // namespace ppplan::planner
