// Qwen3 (dense): transformers' models/qwen3. Heads of 128 whatever the hidden size, and normed.
#include "profiler/models/families/families.h"
#include "profiler/models/families/llama_like.h"

namespace ppplan::profiler {

Model describe_qwen3(const Config& config) {
  LlamaLike shape = read_llama_like(config, {.vocabulary = 151936,
                                             .feed_forward = 22016,
                                             .kv_head_count = 32,
                                             .head_size = 128,
                                             .max_sequence = 32768});
  shape.has_query_bias = config.flag("attention_bias", false);
  shape.has_output_bias = shape.has_query_bias;
  shape.has_query_norm = true;
  read_qwen_windows(config, shape);
  return describe(shape);
}

}  // namespace ppplan::profiler
