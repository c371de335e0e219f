// Qwen2 and Qwen2.5: transformers' models/qwen2. Biases on query, key and value only.
#include "profiler/models/families/families.h"
#include "profiler/models/families/llama_like.h"

namespace ppplan::profiler {

Model describe_qwen2(const Config& config) {
  LlamaLike shape = read_llama_like(
      config,
      {.vocabulary = 151936, .feed_forward = 22016, .kv_head_count = 32, .max_sequence = 32768});
  shape.has_query_bias = true;
  read_qwen_windows(config, shape);
  return describe(shape);
}

}  // namespace ppplan::profiler
