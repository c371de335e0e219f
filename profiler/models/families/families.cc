#include "profiler/models/families/families.h"

#include <array>

namespace ppplan::profiler {

std::span<const Family> families() {
  static constexpr std::array<Family, 5> kFamilies{{
      {"gpt2", "GPT2LMHeadModel", describe_gpt2},
      {"llama", "LlamaForCausalLM", describe_llama},
      {"mistral", "MistralForCausalLM", describe_mistral},
      {"qwen2", "Qwen2ForCausalLM", describe_qwen2},
      {"qwen3", "Qwen3ForCausalLM", describe_qwen3},
  }};
  return kFamilies;
}

}  // namespace ppplan::profiler
