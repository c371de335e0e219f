// Runs ppplan-worker: one or several, to their end, with their failures explained.
#pragma once

#include "executor/launch/interruption.h"
#include "executor/launch/process_group.h"
#include "reports/documents/worker_versions.h"
#include "reports/progress.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::launch {

/// One call of the worker program.
struct WorkerCall {
  std::string name;                    ///< for messages: "rank 1 (stage 1, layers 3-5)"
  std::vector<std::string> arguments;  ///< after the program: "run", "job.yaml", "--rank", "1"
  std::optional<int> inherited;        ///< a descriptor, seen as kInheritedDescriptor
};

struct WorkerPlan {
  std::filesystem::path program;
  std::filesystem::path
      output;  ///< folder where rank r leaves failure<r>.yaml; cleared of old ones
  std::vector<WorkerCall> calls;  ///< by rank
  WatchOptions watch;
};

/// Starts all calls and returns when each has ended with 0. `started` is called once all run (to
/// close what they inherited). Throws Error: kInterrupted after a signal; otherwise the first
/// failure's cause (diagnosis.h). No worker is left running in either case.
void run_workers(
    const WorkerPlan& plan, Interruption& interruption, Progress& progress,
    const std::function<void()>& started = [] {});

/// What `program version` answers. Throws Error(kRuntime) when it cannot be started or fails,
/// Error(kBadInput) when it answers something else.
WorkerVersions ask_versions(const std::filesystem::path& program, Interruption& interruption);

}  // namespace ppplan::launch
