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
};

/// Every forward and backward (full, or input and weight) of every (stage, micro-batch) exactly
/// once and on its stage's rank; dependencies acyclic; for a schedule with communication, sends and
/// receives matched in order and free of deadlock under blocking sends. Empty when all holds.
/// O(actions).
std::optional<ScheduleFault> check(const Schedule& schedule);

}  // namespace ppplan::planner
