// PipeDream's question, answered exactly over all contiguous cuts of an item graph.
#pragma once

#include "planner/graph/nested.h"
#include "planner/graph/replication.h"

#include <cstdint>
#include <vector>

namespace ppplan::planner {

/// Dynamic programming over ideals and units used (Narayanan et al., SOSP 2019, section 3.1, with
/// every interior transfer counted). Of two levels, the outer one's stages are the best pipelines
/// of the inner one between the same ideals.
class PipeDreamSearch {
 public:
  /// One or two levels, the devices of a machine first. `graph` and `lattice` must outlive it.
  PipeDreamSearch(const ItemGraph& graph, const Lattice& lattice,
                  const std::vector<ReplicationLevel>& levels);
  PipeDreamSearch(const PipeDreamSearch&) = delete;
  PipeDreamSearch& operator=(const PipeDreamSearch&) = delete;

  /// As MaxLoadSearch has them.
  double least(ValueRange range, std::int64_t most_work);
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] std::vector<Segment> stages();
  [[nodiscard]] std::int64_t pair_count() const { return pair_count_; }
  [[nodiscard]] std::int64_t work() const;

 private:
  class StageVisitor;
  using Ideal = Lattice::Ideal;

  void search_machine(Ideal start, bool to_the_end);
  void search_machines();

  const Lattice& lattice_;
  PipelineSums sums_;
  NestedWalk walk_;
  std::vector<PipelineTable> tables_;  ///< by level
  std::int64_t most_work_ = 0;
  std::int64_t work_before_ = 0;  ///< the last call
  std::int64_t pair_count_ = 0;
  bool complete_ = true;
};

}  // namespace ppplan::planner
