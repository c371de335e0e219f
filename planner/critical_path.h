// The longest chain of a step's actions, each of which waits for the one before.
#pragma once

#include "planner/plan_pricer.h"
#include "reports/documents/explanation.h"

namespace ppplan::planner {

/// From the last action back to the first, each time to what the action waited for: the rank's own
/// action before it where that ended last, else the one that sent its input. The binding rank is
/// the one that most of the path's computing is on. Adds up to the step. O(actions).
CriticalPath critical_path(const PricedAgain& plan);

}  // namespace ppplan::planner
