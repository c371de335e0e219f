#include "profiler/environment/host.h"

#include "profiler/environment/system_files.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <tuple>
#include <utility>

namespace ppplan::profiler {
namespace {

namespace fs = std::filesystem;

/// Version 1 writes "no limit" as the largest number of pages.
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

template <typename T>
void keep_smaller(std::optional<T>& limit, const T& candidate) {
  if (!limit || candidate < *limit) limit = candidate;
}

std::optional<std::int64_t> read_number(const fs::path& file) {
  const auto text = read_system_file(file);
  return text ? leading_number(*text) : std::nullopt;
}

/// `base` / `path` and every folder above it, down to `base`. Inside a container the path may be
/// the host's and not exist; its lowest levels are then simply not found.
std::vector<fs::path> levels(const fs::path& base, const std::string& path) {
  std::vector<fs::path> result{base};
  fs::path below = base;
  for (const fs::path& part : fs::path(path).relative_path()) {
    if (part == "..") break;
    below /= part;
    result.push_back(below);
  }
  return result;
}

void read_cpu_level(const fs::path& folder, ContainerLimits& limits) {
  std::optional<std::int64_t> quota;
  std::optional<std::int64_t> period;
  if (const auto text = read_system_file(folder / "cpu.max")) {  // "200000 100000", "max 100000"
    quota = leading_number(*text);
    const std::size_t blank = text->find(' ');
    if (blank != std::string::npos) period = leading_number(text->substr(blank));
  } else {
    quota = read_number(folder / "cpu.cfs_quota_us");  // -1: none
    period = read_number(folder / "cpu.cfs_period_us");
  }
  if (quota && period && *quota > 0 && *period > 0) {
    keep_smaller(limits.cores, static_cast<double>(*quota) / static_cast<double>(*period));
  }
}

void read_memory_level(const fs::path& folder, ContainerLimits& limits) {
  auto limit = read_number(folder / "memory.max");  // a number or "max"
  auto used = read_number(folder / "memory.current");
  if (!limit) limit = read_number(folder / "memory.limit_in_bytes");
  if (!used) used = read_number(folder / "memory.usage_in_bytes");
  if (!limit || *limit < 0 || *limit >= kUnlimited) return;
  keep_smaller(limits.memory, Bytes{*limit});
  if (!used) return;
  std::int64_t droppable = 0;
  if (const auto statistics = read_system_file(folder / "memory.stat")) {
    auto value = value_of(*statistics, "total_inactive_file ");  // version 1, children included
    if (!value) value = value_of(*statistics, "inactive_file ");
    droppable = value ? leading_number(*value).value_or(0) : 0;
  }
  const std::int64_t left = *limit - *used + std::clamp(droppable, std::int64_t{0}, *used);
  keep_smaller(limits.memory_left, Bytes{std::clamp(left, std::int64_t{0}, *limit)});
}

std::string processor_name(const fs::path& root) {
  const auto text = read_system_file(root / "proc/cpuinfo");
  const auto value = text ? value_of(*text, "model name") : std::nullopt;
  const std::size_t colon = value ? value->find(": ") : std::string::npos;
  return colon == std::string::npos ? "unknown" : value->substr(colon + 2);
}

}  // namespace

ContainerLimits read_container_limits(const fs::path& root) {
  ContainerLimits limits;
  const fs::path mount = root / "sys/fs/cgroup";
  std::istringstream groups(read_system_file(root / "proc/self/cgroup").value_or(""));
  // Lines "0::/path" (version 2) and "4:memory:/path" or "3:cpu,cpuacct:/path" (version 1).
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const auto has = [&](const std::string& name) {
      return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
    };
    if (controllers.empty() || has("cpu")) {
      for (const fs::path& level : levels(mount / controllers, path)) read_cpu_level(level, limits);
    }
    if (controllers.empty() || has("memory")) {
      for (const fs::path& level : levels(mount / controllers, path)) {
        read_memory_level(level, limits);
      }
    }
  }
  return limits;
}

HostCores read_cores(const std::vector<int>& allowed, const ContainerLimits& limits,
                     const fs::path& root) {
  std::vector<std::tuple<std::int64_t, std::int64_t, int>> places;  // package, core, logical core
  places.reserve(allowed.size());
  for (const int logical : allowed) {
    const fs::path topology = root / fmt::format("sys/devices/system/cpu/cpu{}/topology", logical);
    places.emplace_back(read_number(topology / "physical_package_id").value_or(0),
                        read_number(topology / "core_id").value_or(logical), logical);
  }
  std::sort(places.begin(), places.end());

  HostCores result;
  std::map<std::pair<std::int64_t, std::int64_t>, int> numbers;
  for (const auto& [package, core, logical] : places) {
    const auto next = static_cast<int>(numbers.size());
    result.logical.push_back(logical);
    result.physical.push_back(numbers.try_emplace({package, core}, next).first->second);
  }
  result.machine_count = static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  const auto count = static_cast<double>(result.logical.size());
  result.quota = std::min(limits.cores.value_or(count), count);
  result.name = processor_name(root);
  return result;
}

std::vector<int> allowed_cores() {
  // The set must hold every core the kernel knows, which may be more than cpu_set_t does.
  for (int capacity = CPU_SETSIZE; capacity <= (1 << 20); capacity *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(capacity), [](cpu_set_t* pointer) { CPU_FREE(pointer); });
    const std::size_t size = CPU_ALLOC_SIZE(capacity);
    if (!set || sched_getaffinity(0, size, set.get()) != 0) continue;
    std::vector<int> cores;
    for (int core = 0; core < capacity; ++core) {
      if (CPU_ISSET_S(static_cast<std::size_t>(core), size, set.get())) cores.push_back(core);
    }
    return cores;
  }
  return {0};
}

HostMemory read_memory(const ContainerLimits& limits, const fs::path& root) {
  const std::string text = read_system_file(root / "proc/meminfo").value_or("");
  const auto bytes_of = [&text](std::string_view key) {
    const auto value = value_of(text, key);
    return Bytes{(value ? leading_number(*value).value_or(0) : 0) * 1024};
  };
  HostMemory memory{.total = bytes_of("MemTotal:"), .available = bytes_of("MemAvailable:")};
  if (limits.memory) memory.total = std::min(memory.total, *limits.memory);
  if (limits.memory_left) memory.available = std::min(memory.available, *limits.memory_left);
  return memory;
}

}  // namespace ppplan::profiler
