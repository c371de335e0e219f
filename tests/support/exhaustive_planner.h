// Plans of small models by trying everything, and any plan judged afresh: costs are added up layer
// by layer from the profile's rows, in as many words as the documents' comments say it, and nothing
// but the schedules, their simulator and their memory timeline is shared with the planner.
#pragma once

#include "planner/partition.h"
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"

#include <vector>

namespace ppplan::testing {

/// What a plan really takes.
struct Judged {
  Seconds step{0};
  std::vector<Bytes> needed;  ///< by rank
};

/// Precondition: one stage a rank; devices of different speeds have different names.
Judged judge(const Profile& profile, const Plan& plan);

/// The shortest step of all layouts, device orders, micro-batch sizes, sizes of recomputed pieces,
/// schedules, cuts and choices of what each layer recomputes; infinite when none fits. No layer's
/// devices straddle the end of a node. Of a stage's choices that fit only those are simulated than
/// which no other is faster in everything.
///
/// Precondition: schedules of one stage a rank that do not split the backward; the sequence was
/// measured; devices that differ form one pipeline.
Seconds exhaustive(const Profile& profile, const planner::PartitionOptions& options);

}  // namespace ppplan::testing
