// What a worker computes with: the answer of `ppplan-worker version`, a YAML document on standard
// output. `ppplan doctor` shows it, and `ppplan run` compares its kernels with the plan's.
#pragma once

#include "reports/documents/profile.h"

#include <optional>
#include <string>
#include <string_view>

namespace ppplan {

struct WorkerVersions {
  std::string tool_version;
  std::string torch;  ///< of LibTorch, with its build: "2.11.0+cu130"
  std::optional<std::string>
      cuda_runtime;  ///< CUDA that LibTorch was built with; empty: a CPU build
  std::optional<std::string> nccl;
  std::optional<std::string> cupti;
  int cuda_device_count = 0;              ///< devices the CUDA runtime can use now
  std::optional<std::string> cuda_error;  ///< why it can use none, in its own words
  Kernels kernels;                        ///< threads and pinning are those of the asking process
  bool operator==(const WorkerVersions&) const = default;
};

/// Throws Error(kBadInput) "name:line:column: key: ..." for anything but such a document.
WorkerVersions read_worker_versions(std::string_view text, const std::string& name);
/// The document; reading it back gives an equal value.
std::string write_worker_versions(const WorkerVersions& versions);

}  // namespace ppplan
