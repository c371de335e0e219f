// The questions next to a plan's own: a little more memory, one more device, faster links, another
// batch; each planned anew.
#pragma once

#include "planner/partition.h"
#include "reports/documents/explanation.h"

#include <string>
#include <vector>

namespace ppplan::planner {

/// A question that differs from a plan's in one thing.
struct ChangedQuestion {
  std::string change;  ///< for people: "1 GiB more a device"
  Profile profile;
  PartitionOptions options;
  bool plan_serves = true;  ///< the plan answers it too: batch and devices suffice
};

/// 1 GiB more on every device; one more device, or node of a cluster; links in half the time,
/// inside and between nodes; half and twice the global batch. Those that make sense for the plan.
/// `plan`: made from `profile`.
std::vector<ChangedQuestion> changed_questions(const Profile& profile, const Plan& plan);

/// Plans the question anew. Where `plan` serves and is as good as what is found, it is the answer.
/// What partition throws becomes the refusal.
WhatIf answer(const ChangedQuestion& question, const Plan& plan);

}  // namespace ppplan::planner
