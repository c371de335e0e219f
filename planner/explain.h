// Says why a plan is as it is: what binds, where its time goes, why others lost, and what a change
// would bring. Everything is priced or planned again; nothing is guessed.
#pragma once

#include "reports/documents/explanation.h"
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"
#include "reports/progress.h"

#include <cstdint>

namespace ppplan::planner {

/// Explains a plan made from this profile; which questions are asked beside the plan's own stands
/// in what_if.h. Throws Error(kBadInput) where the plan is none of this profile's. Deterministic.
/// Takes what planning takes, about six times, on two threads; each boundary is priced twice, but
/// of those of very long schedules only the binding rank's. `progress` hears of it on this thread.
Explanation explain(const Profile& profile, const Plan& plan, Progress& progress);

}  // namespace ppplan::planner
