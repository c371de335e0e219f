// The question of dnn-partitioning: which contiguous cut has the least largest load of a device.
#pragma once

#include "planner/graph/cut_search.h"
#include "planner/graph/graph_cut.h"
#include "reports/documents/graph_profile.h"
#include "reports/documents/units.h"

#include <optional>
#include <vector>

namespace ppplan::planner {

struct MaxLoadOptions {
  int accelerators = 1;
  int cpus = 0;
  std::optional<Bytes> memory;              ///< of an accelerator; empty: no limit
  std::optional<BytesPerSecond> bandwidth;  ///< for graphs that state bytes, not times of transfers
  SearchLimits limits;
};

/// Rules (Tarnawski et al., NeurIPS 2020, "Computational model"): an accelerator's load is the time
/// of its nodes, plus the transfer of each output that it reads from elsewhere, plus that of each
/// that it makes and another device reads; a CPU's is the time of its nodes there. The memory of an
/// accelerator's nodes stays within its limit; nodes of one colour class share a device; the
/// forward nodes of a device are the difference of two ideals of the forward graph, and so are the
/// backward nodes: a colour class ties them together, and backward nodes without a forward partner
/// are ordered among the others as their edges, reversed, say. Throws Error(kBadInput) when the
/// graph lacks what the rules need. Minimizes exactly up to `limits`, see CutSearcher.
GraphAnswer cut_max_load(const GraphProfile& profile, const MaxLoadOptions& options);

/// The load of each stage, and its parts, by the rules alone: for plans of any origin.
/// O(nodes + edges).
void weigh_max_load(const GraphProfile& profile, const MaxLoadOptions& options,
                    std::vector<GraphStage>& stages);

}  // namespace ppplan::planner
