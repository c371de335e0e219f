#include "profiler/environment/limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <climits>
#include <system_error>

namespace ppplan::profiler {
namespace {

std::optional<Bytes> free_space(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(
      std::min<std::uintmax_t>(space.available, static_cast<std::uintmax_t>(INT64_MAX)))};
}

}  // namespace

LimitFacts read_limits(const std::filesystem::path& output, const std::filesystem::path& root) {
  LimitFacts facts;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
    facts.open_files = static_cast<long>(std::min<rlim_t>(files.rlim_cur, LONG_MAX));
  }
  facts.shared_memory = free_space(root / "dev/shm");
  facts.disk = free_space(output);
  return facts;
}

}  // namespace ppplan::profiler
