#include "cli/workers.h"

#include "profiler/environment/host.h"
#include "reports/documents/error.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace ppplan::cli {

std::filesystem::path worker_program(const std::optional<std::string>& wish) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path program =
      wish ? std::filesystem::path(*wish) : own.parent_path() / "ppplan-worker";
  if (access(program.c_str(), X_OK) != 0 || std::filesystem::is_directory(program, error)) {
    throw Error(Failure::kRuntime, fmt::format("cannot find the worker {}", program.string()),
                wish ? "--worker takes the path of a ppplan-worker"
                     : "build it with ./quickstart.sh, or name one with --worker");
  }
  return std::filesystem::absolute(program);
}

launch::AvailableCores available_cores() {
  const profiler::ContainerLimits limits = profiler::read_container_limits();
  const profiler::HostCores host = profiler::read_cores(profiler::allowed_cores(), limits);
  return {.logical = host.logical, .physical = host.physical, .quota = host.quota};
}

Bytes available_memory() {
  return profiler::read_memory(profiler::read_container_limits()).available;
}

std::optional<std::string> placement_warning(const std::vector<WorkerPlacement>& workers) {
  if (!workers.front().cores.empty()) return std::nullopt;
  return fmt::format("{} workers on fewer cores: not pinned, and times that will not mean much",
                     workers.size());
}

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(Failure::kRuntime,
                fmt::format("{}: cannot make the folder: {}", folder.string(), error.message()),
                "choose another place with -o");
  }
}

}  // namespace ppplan::cli
