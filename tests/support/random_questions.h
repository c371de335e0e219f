// Small random questions about the planner's whole space, small enough that everything can be
// tried.
#pragma once

#include "planner/partition.h"
#include "reports/documents/profile.h"

#include <random>

namespace ppplan::testing {

struct RandomQuestion {
  Profile profile;
  planner::PartitionOptions options;
};

/// At most 7 layers on at most 4 ranks of one pipeline: layers that recompute or not, in pieces or
/// not, frozen and tied ones, devices that differ; micro-batches of 1 to 3 samples. In most the
/// memory limit is below what the fastest plan takes.
RandomQuestion random_pipeline(std::mt19937& random);

/// At most 5 layers on 2 nodes of at most 3 devices, layers shared by one or two of them.
RandomQuestion random_layout(std::mt19937& random);

}  // namespace ppplan::testing
