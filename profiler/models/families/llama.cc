// Llama 1, 2 and 3, SmolLM, TinyLlama: transformers' models/llama.
#include "profiler/models/families/families.h"
#include "profiler/models/families/llama_like.h"

namespace ppplan::profiler {

Model describe_llama(const Config& config) {
  LlamaLike shape =
      read_llama_like(config, {.vocabulary = 32000, .feed_forward = 11008, .max_sequence = 2048});
  // transformers asks for this even when head_dim is given.
  check_heads_divide(config, "hidden_size", shape.hidden, shape.head_count);
  shape.has_query_bias = config.flag("attention_bias", false);
  shape.has_output_bias = shape.has_query_bias;
  shape.has_mlp_bias = config.flag("mlp_bias", false);
  return describe(shape);
}

}  // namespace ppplan::profiler
