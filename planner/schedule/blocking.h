// Whether an order runs when sends block: each send waits until its receive is reached, as with
// MPI's synchronous sends or a pair of NCCL calls that are not grouped.
#pragma once

#include "planner/schedule/checker.h"
#include "planner/schedule/schedule.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace ppplan::planner {

/// In which order ranks send and receive.
enum class Exchanges {
  /// Of a compute-only order: each send right after the action that makes its tensor, each receive
  /// right before the action that needs it.
  kAsWritten,
  /// The same, except where two ranks send to each other between two of their computations: there
  /// an even rank sends and then receives, an odd rank receives and then sends.
  kEvenOdd,
};

/// Runs a schedule of which `check` finds all but blocking sends in order; says where it stops and
/// why, or nothing when it runs, whatever the durations. The position counts the rank's actions,
/// or, of communication that is not written, its sends and receives. That one of these orders stops
/// says nothing against the computations: with_communication places transfers so that any acyclic
/// order of computations runs. O(actions).
std::optional<ScheduleFault> check_blocking_sends(const Schedule& schedule, Exchanges exchanges);

bool has_communication(const Schedule& schedule);

/// Describes why ranks stopped at `reached` (the counts of actions done); empty when all are
/// through. Follows the waits until they close, so that the rank named takes part in the cycle and
/// does not merely wait for it.
std::optional<ScheduleFault> describe_deadlock(const Schedule& schedule,
                                               const std::vector<std::size_t>& reached);

}  // namespace ppplan::planner
