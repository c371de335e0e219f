// Llama 1, 2 and 3, SmolLM, TinyLlama: transformers' models/llama.
#include "profiler/models/families/families.h"
#include "profiler/models/families/llama_like.h"

namespace ppplan::profiler {

Model describe_llama(const Config& config) {
  LlamaLike shape =
      read_llama_like(config, {.vocabulary = 32000, .feed_forward = 11008, .max_sequence = 2048});
  if (shape.hidden % shape.head_count !=
      0) {  // transformers refuses this even when head_dim is given
    config.fields().fail("hidden_size", "expected a multiple of " +
                                            std::to_string(shape.head_count) + " heads, found " +
                                            std::to_string(shape.hidden));
  }
  shape.has_query_bias = config.flag("attention_bias", false);
  shape.has_output_bias = shape.has_query_bias;
  shape.has_mlp_bias = config.flag("mlp_bias", false);
  return describe(shape);
}

}  // namespace ppplan::profiler
