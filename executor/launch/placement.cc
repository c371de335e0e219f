#include "executor/launch/placement.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace ppplan::launch {

std::vector<WorkerPlacement> place(int rank_count, const AvailableCores& cores) {
  assert(rank_count >= 1);
  const auto ranks = static_cast<std::size_t>(rank_count);
  const std::size_t core_count = cores.logical.size();
  std::vector<WorkerPlacement> placements(ranks);
  if (core_count < ranks) return placements;

  const int allowance = std::max(1, static_cast<int>(cores.quota) / rank_count);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t first = rank * core_count / ranks;
    const std::size_t last = (rank + 1) * core_count / ranks;
    std::set<int> physical;
    for (std::size_t core = first; core < last; ++core) {
      placements[rank].cores.push_back(cores.logical[core]);
      physical.insert(cores.physical[core]);
    }
    placements[rank].threads = std::min(allowance, static_cast<int>(physical.size()));
  }
  return placements;
}

}  // namespace ppplan::launch
