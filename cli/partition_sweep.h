// ppplan partition --sweep-devices: the best plan of each of several numbers of devices.
#pragma once

#include "cli/partition_options.h"
#include "cli/shell.h"
#include "planner/partition.h"
#include "reports/documents/profile.h"

#include <string>
#include <vector>

namespace ppplan::cli {

/// "8..64" -> 8, 16, 32, 64 (the powers of two between, both ends included); "8,24" -> 8, 24 in
/// rising order. Throws Error(kBadInput).
std::vector<int> swept_counts(const std::string& text);

/// Plans every number of devices of arguments.sweep and prints what came out. Two are planned at a
/// time; the answer does not depend on it. Throws Error(kNoPlan) when none has a plan.
void sweep_devices(const Profile& profile, const planner::PartitionOptions& options,
                   const PartitionArguments& arguments, Shell& shell);

}  // namespace ppplan::cli
