// The truth about small chains: every cut tried, judged by simulator and memory model alone.
#pragma once

#include "planner/partition.h"
#include "reports/documents/profile.h"

#include <random>
#include <string>

namespace ppplan::testing {

/// The shortest step over every size, schedule and cut that fits and keeps pins and counts;
/// infinity when none fits.
Seconds brute_force(const Profile& profile, const planner::PartitionOptions& options);

/// A chain of at most 8 layers on at most 4 ranks under one schedule.
struct SmallInstance {
  Profile profile;
  planner::PartitionOptions options;
};

/// Uneven layers, slow links and tied ends come up as often as not.
SmallInstance small_instance(std::mt19937& random, const std::string& schedule,
                             int most_micro_batches);

}  // namespace ppplan::testing
