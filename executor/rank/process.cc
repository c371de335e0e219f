#include "executor/rank/process.h"

#include "executor/layers/memory_counter.h"
#include "reports/documents/error.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <sched.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

namespace ppplan::executor {
namespace {

/// A function of the CUDA libraries that come with LibTorch, where they do; found by name so that a
/// CPU-only LibTorch serves too.
template <class Function>
Function* find_function(const char* library, const char* name) {
  void* const handle = library == nullptr ? RTLD_DEFAULT : dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr && handle == nullptr) return nullptr;
  return reinterpret_cast<Function*>(dlsym(handle, name));
}

std::string dotted(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "cpu";
}

}  // namespace

void prepare_process(const WorkerPlacement& placement) {
  count_cpu_memory();
  at::set_num_threads(placement.threads);
  at::globalContext().setFlushDenormal(true);
}

void pin(const WorkerPlacement& placement) {
  if (placement.cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : placement.cores) {
    if (core < 0 || core >= CPU_SETSIZE) {
      throw Error(Failure::kRuntime, "core " + std::to_string(core) + " does not exist");
    }
    CPU_SET(static_cast<std::size_t>(core), &set);
  }
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw Error(Failure::kRuntime, std::string("cannot be pinned: ") + std::strerror(errno),
                "the cores of the machine changed since the job was made; start again");
  }
}

Kernels kernels_of(const WorkerPlacement& placement) {
  return {.torch = TORCH_VERSION,
          .attention = "flash-cpu",
          .blas = at::hasMKL() ? "mkl" : "openblas",
          .precision = "float32",
          .threads = placement.threads,
          .pinned = !placement.cores.empty()};
}

WorkerVersions worker_versions() {
  WorkerVersions versions;
  versions.tool_version = PPPLAN_VERSION;
  versions.torch = TORCH_VERSION;
  versions.kernels = kernels_of({});
  int number = 0;
  if (auto* const get = find_function<int(int*)>(nullptr, "cudaRuntimeGetVersion");
      get != nullptr && get(&number) == 0) {
    versions.cuda_runtime = dotted(number / 1000, number % 1000 / 10);
    versions.torch += "+cu" + std::to_string(number / 100);
  } else {
    versions.torch += "+cpu";
  }
  if (auto* const get = find_function<int(int*)>(nullptr, "cudaGetDeviceCount")) {
    const int status = get(&number);
    if (status == 0) {
      versions.cuda_device_count = number;
    } else if (auto* const explain =
                   find_function<const char*(int)>(nullptr, "cudaGetErrorString")) {
      versions.cuda_error = explain(status);
    }
  }
  if (auto* const get = find_function<int(std::uint32_t*)>(nullptr, "cuptiGetVersion")) {
    std::uint32_t version = 0;
    if (get(&version) == 0) versions.cupti = std::to_string(version);
  }
  if (auto* const get = find_function<int(int*)>("libnccl.so.2", "ncclGetVersion");
      get != nullptr && get(&number) == 0) {
    versions.nccl = dotted(number / 10000, number / 100 % 100) + "." + std::to_string(number % 100);
  }
  return versions;
}

Device device_of(const WorkerPlacement& placement, int worker, int worker_count) {
  std::string id = placement.cores.empty() ? "worker " + std::to_string(worker) : "core";
  for (const int core : placement.cores) id.append(" ").append(std::to_string(core));
  const std::int64_t memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  return {.name = processor_name(), .type = "cpu", .id = id, .memory = {memory / worker_count}};
}

}  // namespace ppplan::executor
