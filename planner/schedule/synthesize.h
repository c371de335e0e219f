// Makes an order for stages as they really are: uneven, with transfers and memory limits.
#pragma once

#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::planner {

struct SynthesisOptions {
  std::vector<Bytes> memory{};  ///< by rank, for what memory_peaks counts; empty: no limit
  /// Work of the local search, in simulated actions: the default takes about a second.
  std::int64_t simulated_actions = 40'000'000;
};

struct Synthesis {
  Schedule schedule;  ///< name "synthesized", or the best named schedule where none is shorter
  Seconds makespan{0};
  std::string best_named;  ///< empty when no named schedule fits the memory
  Seconds named_makespan{0};
};

/// A schedule for stages standing on these ranks that is never longer, in simulation, than the best
/// named one of the same placement within the same memory. Named schedules and list schedules under
/// many rules are simulated; a local search improves the best few. Empty when nothing fits the
/// memory. Precondition: every rank has a stage; costs cover all stages and micro-batches.
/// Deterministic.
std::optional<Synthesis> synthesize(const std::vector<int>& rank_of_stage,
                                    const ScheduleCosts& costs,
                                    const SynthesisOptions& options = {});

}  // namespace ppplan::planner
