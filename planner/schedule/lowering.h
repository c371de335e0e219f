// Adds communication to a compute-only schedule.
#pragma once

#include "planner/schedule/schedule.h"

namespace ppplan::planner {

/// The schedule with sends and receives placed so that it cannot deadlock even when a send blocks
/// until its receive is posted: each send follows its compute action, and each receive stands in
/// the order its sender sends. Stages of one rank exchange without actions. Of tensors
/// made at the same time those of even ranks go first: in an exchange of neighbours the even rank
/// sends and then receives, the odd one receives and then sends. Overlapped pairs become two
/// actions. A schedule that has communication already stays as it is. Precondition: `check` passes.
/// O(actions log actions).
Schedule with_communication(const Schedule& schedule);

}  // namespace ppplan::planner
