// What `ppplan doctor` concludes from the facts of a machine: each finding with its fix.
#pragma once

#include "profiler/environment/gpu.h"
#include "profiler/environment/host.h"
#include "profiler/environment/limits.h"
#include "profiler/environment/network.h"
#include "reports/documents/worker_versions.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ppplan::profiler {

enum class Health {
  kNone,  ///< nothing there to judge
  kOk,
  kWarning,
  kError
};

struct Finding {
  std::string name;  ///< "LibTorch", "loopback"
  Health health = Health::kOk;
  std::string detail;           ///< what was found
  std::string fix;              ///< what to do; empty when all is well
  bool blocks_cpu_run = false;  ///< the main job cannot run on this machine's CPU
};

/// Why the worker could not be asked.
struct WorkerProblem {
  std::string message;
  std::string hint;
};

struct MachineFacts {
  std::variant<WorkerVersions, WorkerProblem> worker;
  ContainerLimits container;
  HostCores cores;
  HostMemory memory;
  GpuFacts gpu;
  CounterPermission counters;
  NetworkFacts network;
  LimitFacts limits;
  std::optional<std::string> gloo_interface;  ///< GLOO_SOCKET_IFNAME
};

/// Judges facts; reads nothing. In the order in which they are best read.
std::vector<Finding> examine(const MachineFacts& facts);

/// CUPTI counts its API in one number, major * 10000 + minor * 100 + patch since CUDA 13.0: 130001
/// -> "13.0.1". What looks otherwise, as the plain counter before (26), comes back unchanged.
std::string cupti_version(const std::string& text);

/// "13.0" -> {13, 0}; empty when it is no version.
std::optional<std::pair<int, int>> parse_version(const std::string& text);

}  // namespace ppplan::profiler
