#include "profiler/environment/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace ppplan::profiler {
namespace {

constexpr Bytes kLittleMemory{1536LL << 20};
constexpr Bytes kLittleDisk{1LL << 30};
constexpr Bytes kLittleSharedMemory{64LL << 20};
constexpr long kFewFiles = 1024;

Finding ok(std::string name, std::string detail) {
  return {.name = std::move(name), .detail = std::move(detail), .fix = {}};
}

Finding nothing(std::string name, std::string detail) {
  return {.name = std::move(name), .health = Health::kNone, .detail = std::move(detail), .fix = {}};
}

Finding warning(std::string name, std::string detail, std::string fix) {
  return {.name = std::move(name),
          .health = Health::kWarning,
          .detail = std::move(detail),
          .fix = std::move(fix)};
}

Finding error(std::string name, std::string detail, std::string fix) {
  return {.name = std::move(name),
          .health = Health::kError,
          .detail = std::move(detail),
          .fix = std::move(fix)};
}

Finding blocking(Finding finding) {
  finding.blocks_cpu_run = true;
  return finding;
}

Finding worker_finding(const MachineFacts& facts) {
  if (const auto* problem = std::get_if<WorkerProblem>(&facts.worker)) {
    return blocking(error("LibTorch", problem->message, problem->hint));
  }
  const auto& versions = std::get<WorkerVersions>(facts.worker);
  return ok("LibTorch",
            fmt::format("{}, {}, attention {}, matrices {}", versions.torch,
                        versions.cuda_runtime ? "CUDA " + *versions.cuda_runtime + " build"
                                              : std::string("CPU build"),
                        versions.kernels.attention, versions.kernels.blas));
}

/// The driver and whether it suits the CUDA of LibTorch. A CUDA build that silently computes on the
/// CPU though a device is there is the mistake to find.
Finding driver_finding(const MachineFacts& facts) {
  const GpuFacts& gpu = facts.gpu;
  const auto* versions = std::get_if<WorkerVersions>(&facts.worker);
  const bool device_there = gpu.pci_device_count > 0 || !gpu.gpus.empty();
  if (!device_there) return nothing("GPU driver", "no NVIDIA device: runs on the CPU");
  if (gpu.gpus.empty()) {
    return error("GPU driver",
                 fmt::format("an NVIDIA device is there but cannot be used: {}",
                             gpu.problem.value_or("the driver offers no device")),
                 "install or reload the NVIDIA driver (nvidia-smi must list the device); in a "
                 "container, start it with --gpus all");
  }
  const std::string driver = fmt::format(
      "driver {}, serves CUDA {}", gpu.driver.value_or("unknown"), gpu.cuda.value_or("unknown"));
  if (versions == nullptr) return ok("GPU driver", driver);
  if (!versions->cuda_runtime) {
    return error("GPU driver", driver + ", but LibTorch is a CPU build: the GPU would stay idle",
                 "build with a CUDA build of PyTorch (PPPLAN_TORCH=<its folder>)");
  }
  const auto runtime = parse_version(*versions->cuda_runtime);
  const auto served = gpu.cuda ? parse_version(*gpu.cuda) : std::nullopt;
  // Within a major version any driver serves any runtime (CUDA's minor version compatibility).
  if (runtime && served && served->first < runtime->first) {
    return error("GPU driver",
                 fmt::format("{}, but LibTorch needs CUDA {}: it would fall back to the CPU",
                             driver, *versions->cuda_runtime),
                 fmt::format("install a driver that serves CUDA {}.0 or later", runtime->first));
  }
  if (versions->cuda_device_count == 0 && versions->cuda_error) {
    return error(
        "GPU driver",
        fmt::format("{}, but LibTorch can use no device: {}", driver, *versions->cuda_error),
        "check CUDA_VISIBLE_DEVICES and that nvidia-smi works as this user");
  }
  return ok("GPU driver", driver + fmt::format(", LibTorch needs {}", *versions->cuda_runtime));
}

void add_gpus(const MachineFacts& facts, std::vector<Finding>& findings) {
  for (const Gpu& gpu : facts.gpu.gpus) {
    findings.push_back(ok("GPU", fmt::format("{}, {}, {}", gpu.name, human(gpu.memory), gpu.uuid)));
  }
  if (const auto* versions = std::get_if<WorkerVersions>(&facts.worker)) {
    if (versions->nccl) findings.push_back(ok("NCCL", *versions->nccl));
    if (versions->cupti) findings.push_back(ok("CUPTI", cupti_version(*versions->cupti)));
  }
  const CounterPermission& counters = facts.counters;
  if (counters.admin_only.value_or(false) && !counters.system_administrator) {
    findings.push_back(warning(
        "GPU counters",
        "the driver gives them to administrators only: times come from events instead",
        "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or start the container with "
        "--cap-add SYS_ADMIN"));
  } else if (counters.admin_only) {
    findings.push_back(ok("GPU counters", "may be read"));
  }
}

Finding core_finding(const MachineFacts& facts) {
  const HostCores& cores = facts.cores;
  std::string detail = fmt::format("{} of {} ({}), {}", cores.logical.size(), cores.machine_count,
                                   fmt::join(cores.logical, " "), cores.name);
  if (facts.container.cores) {
    detail += fmt::format(", container's limit {:.1f}", *facts.container.cores);
  }
  if (cores.quota < 2.0) {
    return warning(
        "cores", detail + ": two ranks share one core",
        "give the process or container at least 2 cores for figures that mean something");
  }
  return ok("cores", detail);
}

Finding memory_finding(const MachineFacts& facts) {
  std::string detail =
      fmt::format("{} free of {}", human(facts.memory.available), human(facts.memory.total));
  if (facts.container.memory) {
    detail += fmt::format(", container's limit {}", human(*facts.container.memory));
  }
  if (facts.memory.available < kLittleMemory) {
    return blocking(
        error("memory", detail,
              "two workers need about 1.5 GiB before any model: close programs, or raise "
              "the container's limit"));
  }
  return ok("memory", detail);
}

Finding loopback_finding(const NetworkFacts& network) {
  if (!network.loopback_problem) return ok("loopback", "127.0.0.1 can be bound and reached");
  return blocking(error("loopback", *network.loopback_problem,
                        "bring the interface up (ip link set lo up), or allow it in the sandbox"));
}

/// Gloo takes the interface that holds the host name's address, or the one GLOO_SOCKET_IFNAME
/// names.
Finding interface_finding(const MachineFacts& facts) {
  const NetworkFacts& network = facts.network;
  const std::string known = fmt::format("{}", fmt::join(network.interfaces, ", "));
  const std::string fix = fmt::format(
      "set GLOO_SOCKET_IFNAME to one of {} (needed only for runs over several hosts)", known);
  if (facts.gloo_interface) {
    const std::string& wish = *facts.gloo_interface;
    const bool there = std::find(network.interfaces.begin(), network.interfaces.end(), wish) !=
                       network.interfaces.end();
    if (there) return ok("interface", wish + " (GLOO_SOCKET_IFNAME)");
    const bool nccl_syntax = wish.find_first_of("^=,") != std::string::npos;
    return warning("interface",
                   fmt::format("GLOO_SOCKET_IFNAME is '{}': {}", wish,
                               nccl_syntax ? "that syntax is NCCL's; Gloo takes one plain name"
                                           : "there is no such interface"),
                   fix);
  }
  if (network.host_interface) {
    const bool local_only = *network.host_interface == "lo";
    return ok("interface",
              fmt::format(
                  "{} (address of {}){}", *network.host_interface, network.host_name,
                  local_only ? ": over several hosts, GLOO_SOCKET_IFNAME must name another" : ""));
  }
  return warning("interface",
                 network.host_addresses.empty()
                     ? fmt::format("host name {} resolves to no address", network.host_name)
                     : fmt::format("host name {} resolves to {}, which this machine does not hold",
                                   network.host_name, network.host_addresses.front()),
                 fix);
}

void add_limits(const LimitFacts& limits, std::vector<Finding>& findings) {
  const std::string files = limits.open_files ? fmt::format("{}", *limits.open_files) : "unlimited";
  findings.push_back(limits.open_files && *limits.open_files < kFewFiles
                         ? warning("open files", files, "ulimit -n 4096")
                         : ok("open files", files));
  if (!limits.shared_memory) {
    findings.push_back(warning("shared memory", "/dev/shm is not there",
                               "mount a tmpfs there (needed by NCCL between local GPUs)"));
  } else if (*limits.shared_memory < kLittleSharedMemory) {
    findings.push_back(warning("shared memory", human(*limits.shared_memory) + " free in /dev/shm",
                               "start the container with --shm-size=1g"));
  } else {
    findings.push_back(ok("shared memory", human(*limits.shared_memory) + " free in /dev/shm"));
  }
  if (limits.disk) {
    findings.push_back(*limits.disk < kLittleDisk
                           ? warning("disk", human(*limits.disk) + " free",
                                     "free some space, or write elsewhere (-o)")
                           : ok("disk", human(*limits.disk) + " free"));
  }
}

}  // namespace

std::optional<std::pair<int, int>> parse_version(const std::string& text) {
  std::pair<int, int> version;
  const char* end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, version.first);
  if (error != std::errc{} || dot == end || *dot != '.') return std::nullopt;
  if (std::from_chars(dot + 1, end, version.second).ec != std::errc{}) return std::nullopt;
  return version;
}

std::string cupti_version(const std::string& text) {
  constexpr int kFirstSpelled = 120'000;
  constexpr int kLastSpelled = 999'999;
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number < kFirstSpelled || number > kLastSpelled) {
    return text;
  }
  return fmt::format("{}.{}.{}", number / 10'000, number / 100 % 100, number % 100);
}

std::vector<Finding> examine(const MachineFacts& facts) {
  std::vector<Finding> findings{worker_finding(facts), driver_finding(facts)};
  add_gpus(facts, findings);
  findings.push_back(core_finding(facts));
  findings.push_back(memory_finding(facts));
  findings.push_back(loopback_finding(facts.network));
  findings.push_back(interface_finding(facts));
  add_limits(facts.limits, findings);
  return findings;
}

}  // namespace ppplan::profiler
