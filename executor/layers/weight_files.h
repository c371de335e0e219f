// Weights and gradients as safetensors files: 8 bytes of header length, a JSON header, raw data.
#pragma once

#include "reports/documents/units.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ppplan::executor {

/// A folder's *.safetensors, found by tensor name. Headers are read and checked at once (offsets
/// within the file, shapes that fit their bytes), data when asked for. Hostile files give
/// Error(kBadInput).
class WeightFiles {
 public:
  /// A folder, or one file. Throws Error(kBadInput) when there is none or one is malformed.
  explicit WeightFiles(const std::filesystem::path& place);

  /// Copies the tensor of that global name into `value`, converting from F64, F32, F16 or BF16. A
  /// name with a leading "transformer." or "model." is also found without it (base models are
  /// published so). Throws Error(kBadInput) when it is missing or its shape differs.
  void read_into(const std::string& name, const at::Tensor& value) const;

  [[nodiscard]] bool has(const std::string& name) const { return find(name) != nullptr; }

 private:
  struct Entry {
    std::filesystem::path file;
    std::string type;
    std::vector<std::int64_t> shape;
    std::int64_t begin = 0;  ///< in the file
    std::int64_t end = 0;
  };

  void add_file(const std::filesystem::path& file);
  [[nodiscard]] const Entry* find(const std::string& name) const;

  std::filesystem::path place_;
  std::map<std::string, Entry> entries_;
};

/// Writes float32 or float64 tensors, whole or not at all. Throws Error(kRuntime).
void write_safetensors(const std::filesystem::path& file,
                       const std::map<std::string, at::Tensor>& tensors);

}  // namespace ppplan::executor
