// PipeDream's question: which stages, each on how many devices, give the fastest pipeline.
#pragma once

#include "planner/graph/cut_search.h"
#include "planner/graph/graph_cut.h"
#include "reports/documents/graph_profile.h"
#include "reports/documents/units.h"

#include <optional>
#include <vector>

namespace ppplan::planner {

enum class Replication { kAllowed, kNone };

/// Devices of a machine, or machines, and the links between them.
struct PipeDreamLevel {
  int units = 1;
  BytesPerSecond bandwidth{1e9};
};

struct PipeDreamOptions {
  std::vector<PipeDreamLevel> levels;  ///< one or two, the inside of a machine first
  std::optional<Bytes> memory;         ///< of a device, for the copies in flight; empty: no limit
  Replication replication = Replication::kAllowed;
  SearchLimits limits;
};

/// Rules (Narayanan et al., SOSP 2019, section 3.1; Harlap et al., 2018). With T a stage's time, P
/// its parameters, A the bytes of outputs made before a boundary and read behind it, on r devices
/// at bandwidth beta: a stage takes (T + 4(r-1)P / (beta r)) / r, and each of its boundaries
/// 2A / (beta r); the pipeline takes the largest of all. Of two levels, T of an outer stage is the
/// best pipeline inside a machine, and a reduction is shared by the devices of a machine. At most
/// ceil(devices of later stages / r) copies of a stage's outputs and parameters are in memory, none
/// on the last. Inputs are free, and so is a __getitem__ that nobody reads. Throws Error(kBadInput)
/// when the graph lacks what the rules need. Minimizes exactly up to `limits`, see CutSearcher.
GraphAnswer cut_pipedream(const GraphProfile& profile, const PipeDreamOptions& options);

/// The load of each stage, and its parts, by the rules alone: for plans of any origin.
/// Precondition: the stages hold each node once, in an order that their edges allow. O(nodes +
/// edges + stages).
void weigh_pipedream(const GraphProfile& profile, const PipeDreamOptions& options,
                     std::vector<GraphStage>& stages);
/// What the rules make of stages so weighed.
Seconds pipedream_bottleneck(const std::vector<GraphStage>& stages);

}  // namespace ppplan::planner
