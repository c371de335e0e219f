#include "profiler/environment/gpu.h"

#include "profiler/environment/system_files.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <system_error>

namespace ppplan::profiler {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kTextSize = 128;
constexpr unsigned kMostDevices = 1024;

using NvmlDevice = void*;
struct NvmlMemory {
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};

/// The functions of NVML that we call; names as in its header.
struct Nvml {
  using Result = int;
  Result (*init)() = nullptr;
  Result (*shutdown)() = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Result (*driver_version)(char*, unsigned) = nullptr;
  Result (*cuda_version)(int*) = nullptr;
  Result (*count)(unsigned*) = nullptr;
  Result (*handle)(unsigned, NvmlDevice*) = nullptr;
  Result (*name)(NvmlDevice, char*, unsigned) = nullptr;
  Result (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  Result (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
};

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::optional<Nvml> find_functions(void* library) {
  Nvml nvml;
  const bool all = find(library, "nvmlInit_v2", nvml.init) &&
                   find(library, "nvmlShutdown", nvml.shutdown) &&
                   find(library, "nvmlErrorString", nvml.error_string) &&
                   find(library, "nvmlSystemGetDriverVersion", nvml.driver_version) &&
                   find(library, "nvmlSystemGetCudaDriverVersion_v2", nvml.cuda_version) &&
                   find(library, "nvmlDeviceGetCount_v2", nvml.count) &&
                   find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.handle) &&
                   find(library, "nvmlDeviceGetName", nvml.name) &&
                   find(library, "nvmlDeviceGetUUID", nvml.uuid) &&
                   find(library, "nvmlDeviceGetMemoryInfo", nvml.memory);
  return all ? std::optional(nvml) : std::nullopt;
}

template <typename Getter>
std::optional<std::string> text_of(const Getter& getter) {
  std::array<char, kTextSize> text{};
  if (getter(text.data(), kTextSize) != 0) return std::nullopt;
  text.back() = '\0';
  return std::string(text.data());
}

void ask(const Nvml& nvml, GpuFacts& facts) {
  facts.driver = text_of(nvml.driver_version);
  int version = 0;
  if (nvml.cuda_version(&version) == 0) {  // 1000 * major + 10 * minor
    facts.cuda = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  }
  unsigned count = 0;
  if (const int result = nvml.count(&count); result != 0) {
    facts.problem = fmt::format("NVML counts no devices: {}", nvml.error_string(result));
    return;
  }
  for (unsigned index = 0; index < std::min(count, kMostDevices); ++index) {
    NvmlDevice device = nullptr;
    if (const int result = nvml.handle(index, &device); result != 0) {
      facts.problem = fmt::format("device {}: {}", index, nvml.error_string(result));
      continue;
    }
    NvmlMemory memory{};
    nvml.memory(device, &memory);
    const auto text = [&](auto function) {
      return text_of([&](char* target, unsigned size) { return function(device, target, size); })
          .value_or("unknown");
    };
    facts.gpus.push_back({.name = text(nvml.name),
                          .uuid = text(nvml.uuid),
                          .memory = Bytes{static_cast<std::int64_t>(memory.total)}});
  }
}

/// Display (0x03xxxx) devices of NVIDIA (0x10de).
int count_pci_devices(const fs::path& root) {
  int count = 0;
  std::error_code error;
  for (const auto& device : fs::directory_iterator(root / "sys/bus/pci/devices", error)) {
    const auto vendor = read_system_file(device.path() / "vendor");
    const auto kind = read_system_file(device.path() / "class");
    if (vendor && kind && vendor->starts_with("0x10de") && kind->starts_with("0x03")) ++count;
  }
  return count;
}

}  // namespace

GpuFacts read_gpus(const std::string& library, const fs::path& root) {
  GpuFacts facts;
  facts.pci_device_count = count_pci_devices(root);
  const std::unique_ptr<void, int (*)(void*)> handle(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL),
                                                     [](void* opened) { return dlclose(opened); });
  if (!handle) {
    facts.problem = fmt::format("{} is not installed", library);
    return facts;
  }
  const std::optional<Nvml> nvml = find_functions(handle.get());
  if (!nvml) {
    facts.problem = fmt::format("{} is too old", library);
    return facts;
  }
  if (const int result = nvml->init(); result != 0) {
    facts.problem = nvml->error_string(result);
    return facts;
  }
  ask(*nvml, facts);
  nvml->shutdown();
  return facts;
}

CounterPermission read_counter_permission(const fs::path& root) {
  constexpr int kSysAdmin = 21;  // capabilities(7): CAP_SYS_ADMIN
  CounterPermission permission;
  if (const auto text = read_system_file(root / "proc/driver/nvidia/params")) {
    const auto value = value_of(*text, "RmProfilingAdminOnly:");
    if (value) permission.admin_only = leading_number(*value) != 0;
  }
  if (const auto text = read_system_file(root / "proc/self/status")) {
    const auto value = value_of(*text, "CapEff:");
    const auto mask = value ? std::strtoull(value->c_str(), nullptr, 16) : 0ULL;
    permission.system_administrator = ((mask >> kSysAdmin) & 1U) != 0;
  }
  return permission;
}

}  // namespace ppplan::profiler
