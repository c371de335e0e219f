// What a cut of a graph is and costs, whichever rules it was made by.
#pragma once

#include "reports/documents/units.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ppplan::planner {

/// A stage and what it takes for one mini-batch.
struct GraphStage {
  std::vector<int> nodes;  ///< indices of the profile's nodes, ascending
  bool on_cpu = false;
  int group = 0;         ///< stages of one group are on the same machines
  int machines = 1;      ///< of the group, alike
  int devices = 1;       ///< replicas inside each machine
  Seconds compute{0};    ///< of one replica
  Seconds reduction{0};  ///< of gradients between the replicas
  Seconds receive{0};    ///< of a replica's share of what the stage reads
  Seconds send{0};
  Seconds load{0};  ///< what the rules make of these
  Bytes memory;     ///< as the rules count it
  [[nodiscard]] int device_count() const { return machines * devices; }
};

/// Of a search that found nothing and was not complete.
inline constexpr const char* kNoneFound =
    "found no cut that fits, but did not look at all: the graph is too large";

struct GraphAnswer {
  std::vector<GraphStage> stages;  ///< first to last; empty when no cut fits
  Seconds bottleneck{0};           ///< the largest load
  Seconds lower_bound{0};          ///< no contiguous cut is below; the bottleneck when exact
  bool exact = false;
  std::size_t ideal_count = 0;  ///< 0: more than the search would hold
  std::int64_t pair_count = 0;  ///< of nested ideals looked at
  std::string why_none;         ///< when no cut fits
};

}  // namespace ppplan::planner
