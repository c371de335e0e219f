// ppplan profile --estimate: a profile from a data sheet, without measuring.
#pragma once

#include "cli/shell.h"
#include "profiler/estimate/estimate.h"
#include "profiler/models/load.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::cli {

/// What `ppplan profile MODEL --estimate DEVICE` asks.
struct EstimateArguments {
  std::optional<std::string> device;  ///< empty: measure
  std::optional<std::string> cluster;
  std::vector<int> tensor_degrees;
  std::vector<int> context_degrees;
  profiler::EstimateOptions options;
};

/// Declares the flags; all but --estimate need it. Returns --estimate, for flags that contradict
/// it.
CLI::Option* add_estimate_options(CLI::App& verb, EstimateArguments& arguments);

/// Writes the profile to `output` and shows it. Empty grids take the usual sizes. Precondition:
/// arguments.device.
void estimate_profile(const EstimateArguments& arguments, const profiler::LoadedModel& loaded,
                      const std::vector<int>& micro_batches,
                      const std::vector<std::int64_t>& sequences, const std::string& output,
                      const Shell& shell);

}  // namespace ppplan::cli
