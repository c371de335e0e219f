// From a Hugging Face configuration on disk to the Model document.
#pragma once

#include "reports/documents/model.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppplan::profiler {

struct LoadOptions {
  std::optional<int> layer_count;            ///< keep only the first so many blocks
  std::optional<std::string> assume_family;  ///< read as this model_type whatever the file says
};

struct LoadedModel {
  Model model;
  std::vector<std::string> warnings;  ///< what the user should know, without "warning: "
  std::string sha256;                 ///< of the file's bytes
};

/// Reads a `config.json`, or the one in a folder, as transformers 5 would: an absent key takes its
/// class's default, null is not the same as absent. The model is named after the file, or after the
/// folder of a file called config.json; "-" is standard input.
///
/// Throws Error(kBadInput) with file, line, column and key when the file is no model configuration,
/// is of a family that is not supported (the message lists those that are), contradicts itself, or
/// describes more than 10,000 blocks; also when `layer_count` is no count of this model's blocks.
/// O(file size + layers).
LoadedModel load_model(const std::filesystem::path& path, const LoadOptions& options);

/// The same for a text; `name` is what messages call it, `model_name` becomes Model::name.
LoadedModel read_model_config(std::string_view text, const std::string& name,
                              std::string model_name, const LoadOptions& options);

/// The model_type words that load_model understands, in alphabetical order.
std::vector<std::string> supported_families();

}  // namespace ppplan::profiler
