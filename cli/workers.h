// What the verbs that start workers share: where the worker is, and what this machine offers it.
#pragma once

#include "executor/launch/interruption.h"
#include "executor/launch/placement.h"
#include "executor/launch/workers.h"
#include "reports/documents/units.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::cli {

/// `wish` (of --worker), or ppplan-worker beside this program. Throws Error(kRuntime) that says how
/// to build it when there is none.
std::filesystem::path worker_program(const std::optional<std::string>& wish);

/// Cores this process may use, as workers are placed on them.
launch::AvailableCores available_cores();

/// Memory that can still be used, the container's limit regarded.
Bytes available_memory();

/// "2 workers on fewer cores ..."; empty when every worker has cores of its own.
std::optional<std::string> placement_warning(const std::vector<WorkerPlacement>& workers);

/// A variable of the environment; empty when it is not set.
std::optional<std::string> environment_variable(const std::string& name);

/// Makes a folder and those above it. Throws Error(kRuntime).
void make_folder(const std::filesystem::path& folder);

}  // namespace ppplan::cli
