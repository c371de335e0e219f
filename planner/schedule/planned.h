// From a plan document to the action list it stands for.
#pragma once

#include "planner/schedule/schedule.h"
#include "reports/documents/plan.h"

namespace ppplan::planner {

/// The compute-only schedule of a plan: its own actions where it brings them, else what the
/// generator of its schedule's name gives for its ranks, stages and micro-batches. Throws
/// Error(kBadInput) when that name is unknown or cannot serve the plan's shape, when actions are
/// malformed, or when actions, stages and micro-batches do not belong together. O(actions).
Schedule planned_schedule(const Plan& plan);

}  // namespace ppplan::planner
