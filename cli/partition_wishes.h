// ppplan partition --config and --write-config: the command line's options from a file of wishes,
// and the wishes back with what the planner chose.
#pragma once

#include "cli/partition_options.h"
#include "reports/documents/plan.h"
#include "reports/documents/wishes.h"

#include <optional>
#include <string>
#include <vector>

namespace ppplan::cli {

/// Sets the options that the wishes pin. One that the command line gives too must say the same:
/// otherwise throws Error(kBadInput) naming both. `file` is what messages call the wishes. The
/// device map is left to pins_of, since it needs the model.
void apply_wishes(const Wishes& wishes, const std::string& file, PartitionArguments& arguments);

/// The pins of a device map: layers by the name that their tensors' names start with
/// ("model.layers.3"), by their kind where there is one of it ("head"), by number or range
/// ("0-3"). Throws Error(kBadInput) for names that the model has not, saying which there are.
/// O(entries x layers).
std::vector<LayerPin> pins_of(const Wishes& wishes, const std::string& file, const Model& model);

/// A file of wishes that pins all of the plan: what was wished, or given as options, stays; the
/// rest says what the planner chose. Partitioning again with it gives the same plan. A comment
/// tells where it comes from. `device_count`: that the plan was asked for; empty where it is one
/// pipeline of the profile's devices.
std::string completed_wishes(const Wishes& wishes, const PartitionArguments& arguments,
                             std::optional<int> device_count, const Plan& plan);

}  // namespace ppplan::cli
