// How much of its devices a plan uses.
#pragma once

#include "reports/documents/plan.h"
#include "reports/documents/profile.h"

namespace ppplan::planner {

/// Devices of all ranks.
int device_count(const Plan& plan);

/// The plan as one of the ways that it is compared with.
Rival as_rival(const Plan& plan);

/// Sets predicted.tokens_per_s_per_device and, where the operations a token (forward and backward,
/// nothing recomputed) and the peaks of all devices are known, predicted.mfu. `flops_per_token` is
/// 0 where it is not known. Precondition: the plan is one of this profile. O(ranks x devices).
void set_utilization(Plan& plan, const Profile& profile, double flops_per_token);

}  // namespace ppplan::planner
