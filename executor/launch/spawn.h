// Starts one child process that cannot outlive its parent.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace ppplan::launch {

/// A child and the reading ends (non-blocking) of its standard output and error; the caller owns
/// all.
struct SpawnedProcess {
  pid_t id = 0;
  int out = -1;
  int error = -1;
};

/// Starts `command` (path, arguments) with the environment of this process, nothing on its standard
/// input, default signal handling, as leader of a process group of its own. It is killed when the
/// calling thread ends. `inherited` is its descriptor kInheritedDescriptor (process_group.h); every
/// other descriptor must be close-on-exec. Throws Error(kRuntime) when it cannot be executed.
SpawnedProcess spawn(const std::vector<std::string>& command, std::optional<int> inherited);

}  // namespace ppplan::launch
