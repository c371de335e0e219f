// What this machine, and the container around us, let a process use: cores and memory.
#pragma once

#include "reports/documents/units.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::profiler {

/// Limits of the control groups (versions 1 and 2) around this process, the tightest of all levels.
/// Empty where there is no limit.
struct ContainerLimits {
  std::optional<double> cores;  ///< processor time a second, in cores
  std::optional<Bytes> memory;
  std::optional<Bytes> memory_left;  ///< of `memory`; page cache that can be dropped counts as left
};

/// Reads <root>/proc/self/cgroup and the controllers' files under <root>/sys/fs/cgroup.
ContainerLimits read_container_limits(const std::filesystem::path& root = "/");

struct HostCores {
  std::vector<int>
      logical;  ///< allowed by our affinity, those sharing a physical core side by side
  std::vector<int> physical;  ///< for each, a number equal for those sharing a physical core
  int machine_count = 0;      ///< logical cores of the machine, ours or not
  double quota = 0.0;         ///< the container's limit; `logical`'s size without one
  std::string name;           ///< of the processor, "unknown" when it does not say
};

/// The cores `allowed` (of sched_getaffinity), with their topology under <root>/sys and their name
/// in <root>/proc/cpuinfo.
HostCores read_cores(const std::vector<int>& allowed, const ContainerLimits& limits,
                     const std::filesystem::path& root = "/");

/// Logical cores this process may run on, ascending.
std::vector<int> allowed_cores();

struct HostMemory {
  Bytes total;
  Bytes available;  ///< without swapping, and within the container's limit
};

/// Reads <root>/proc/meminfo.
HostMemory read_memory(const ContainerLimits& limits, const std::filesystem::path& root = "/");

}  // namespace ppplan::profiler
