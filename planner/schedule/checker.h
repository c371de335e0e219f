// Proves that an action list can run: nothing missing, nothing twice, no deadlock.
#pragma once

#include "planner/schedule/schedule.h"

#include <optional>
#include <string>

namespace ppplan::planner {

/// What is wrong with a schedule, at which place (0-based; position counts actions of the rank).
struct ScheduleFault {
  int rank = 0;
  int position = 0;
  std::string message;
  std::string hint{};  ///< what would cure it, where that is known
};

/// Every forward and backward (full, or input and weight; none where the schedule is called
/// kForwardOnly) of every (stage, micro-batch) exactly once and on its stage's rank; dependencies
/// acyclic. Empty when all holds. O(actions).
///
/// What that proves about deadlock, when each send blocks until its receive is reached:
/// - compute-only: there is an order of sends and receives that never deadlocks, whatever the
///   durations: with_communication makes one, in which neighbours exchange in even/odd order (of
///   tensors made at the same time those of even ranks go first). An acyclic order is all it needs:
///   it places every transfer in one order common to all ranks. Whether simpler orders run too says
///   check_blocking_sends (blocking.h).
/// - with communication: sends and receives are matched in order, and running them as they are
///   written never deadlocks; so both ranks of an exchange sending first is refused, and even/odd
///   order passes.
std::optional<ScheduleFault> check(const Schedule& schedule);

}  // namespace ppplan::planner
