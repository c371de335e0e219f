// Mistral: transformers' models/mistral. Every layer slides, or none does; layer_types is not read.
#include "profiler/models/families/families.h"
#include "profiler/models/families/llama_like.h"

#include <algorithm>

namespace ppplan::profiler {

Model describe_mistral(const Config& config) {
  LlamaLike shape = read_llama_like(
      config,
      {.vocabulary = 32000, .feed_forward = 14336, .kv_head_count = 8, .max_sequence = 131072});
  const std::optional<std::int64_t> window = config.fields().mentions("sliding_window")
                                                 ? config.size_or_null("sliding_window")
                                                 : std::optional<std::int64_t>(4096);
  std::fill(shape.windows.begin(), shape.windows.end(), window);
  return describe(shape);
}

}  // namespace ppplan::profiler
