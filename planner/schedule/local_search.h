// Improves an order by small changes where it is critical.
#pragma once

#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"

#include <cstdint>
#include <vector>

namespace ppplan::planner {

struct SearchLimits {
  std::vector<Bytes> memory{};         ///< by rank, what memory_peak may reach; empty: none
  std::int64_t simulated_actions = 0;  ///< work: actions simulated in all (some 10^7 a second)
};

struct Improved {
  Schedule schedule;
  Seconds makespan{0};
};

/// Tabu search over exchanges on critical paths (Nowicki and Smutnicki 1996, for job shops): two
/// neighbours at the border of a critical block change places, or a weight gradient moves forward
/// into a gap. Never returns a longer or, beyond the limits, a larger order than `start`, which
/// must keep the limits and pass `check`. Deterministic; O(simulated_actions).
Improved improve(Schedule start, const ScheduleCosts& costs, const SearchLimits& limits);

}  // namespace ppplan::planner
