// Which cores each local worker computes on, and with how many threads.
#pragma once

#include "reports/documents/job.h"

#include <vector>

namespace ppplan::launch {

/// What this process may use.
struct AvailableCores {
  /// Logical cores, those that share a physical core side by side.
  std::vector<int> logical;
  /// For each logical core, a number that is equal for those sharing a physical core.
  std::vector<int> physical;
  /// Time a container may use, in cores; at least as many as `logical` when there is no limit.
  double quota = 0.0;
};

/// One placement a rank. The cores are cut into `rank_count` consecutive shares of nearly equal
/// size, and a rank is pinned to its share. It computes with one thread a physical core of its
/// share, fewer when the container's quota is smaller. With more ranks than cores none is pinned
/// and each has one thread. A quota alone never unpins: it limits time, not cores. Precondition:
/// rank_count >= 1. O(cores + ranks).
std::vector<WorkerPlacement> place(int rank_count, const AvailableCores& cores);

}  // namespace ppplan::launch
