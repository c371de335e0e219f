// The generators behind make_schedule, each with the shapes it can serve.
#pragma once

#include "planner/schedule/generators.h"

namespace ppplan::planner {

/// A schedule without actions: name, micro-batches, and stages laid over ranks.
/// Loop: stage s on rank s mod p. V: chunk 0 goes down the ranks, chunk 1 comes back up.
enum class Placement { kLoop, kV };
Schedule empty_schedule(const std::string& name, const ScheduleShape& shape, int virtual_count,
                        Placement placement);

/// One micro-batch after the other through all stages, forward and then backward: no overlap.
Schedule naive(const ScheduleShape& shape);
/// All forwards, then all backwards (Huang et al. 2019, GPipe).
Schedule gpipe(const ScheduleShape& shape);
/// p - r - 1 forwards, then forward and backward in turn (Narayanan et al. 2019, PipeDream-Flush).
Schedule one_forward_one_backward(const ScheduleShape& shape);

}  // namespace ppplan::planner
