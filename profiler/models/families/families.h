// The table of model families. To add one: write families/<model_type>.cc with a function from its
// configuration to a Model, declare it here and give it a line in families.cc.
#pragma once

#include "profiler/models/config.h"
#include "reports/documents/model.h"

#include <span>
#include <string_view>

namespace ppplan::profiler {

/// A family: Hugging Face's model_type, the architecture it is read as, and its description.
/// `describe` fills hidden, vocabulary, max_sequence, kinds and layers; the loader fills the rest.
struct Family {
  std::string_view model_type;
  std::string_view architecture;
  Model (*describe)(const Config& config);
};

/// All families, by model_type.
std::span<const Family> families();

Model describe_gpt2(const Config& config);
Model describe_llama(const Config& config);
Model describe_mistral(const Config& config);
Model describe_qwen2(const Config& config);
Model describe_qwen3(const Config& config);

}  // namespace ppplan::profiler
