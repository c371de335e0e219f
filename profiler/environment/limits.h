// Limits that stop a run late and obscurely: open files, shared memory, free disk.
#pragma once

#include "reports/documents/units.h"

#include <filesystem>
#include <optional>

namespace ppplan::profiler {

struct LimitFacts {
  std::optional<long> open_files;      ///< this process may have; empty: unlimited
  std::optional<Bytes> shared_memory;  ///< free in /dev/shm; empty when it is not there
  std::optional<Bytes> disk;           ///< free where output goes; empty when it cannot be asked
};

/// `output` is the folder that will be written to, or one above it when it is not there yet.
LimitFacts read_limits(const std::filesystem::path& output,
                       const std::filesystem::path& root = "/");

}  // namespace ppplan::profiler
