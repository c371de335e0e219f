#include "tests/support/estimated_profile.h"

#include "profiler/estimate/data_sheets.h"
#include "profiler/models/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ppplan::testing {

Model llama_of(const ModelSizes& sizes) {
  const std::string config = fmt::format(
      R"({{"model_type": "llama", "num_hidden_layers": {}, "hidden_size": {},
           "num_attention_heads": {}, "num_key_value_heads": {}, "head_dim": {},
           "intermediate_size": {}, "vocab_size": {}, "max_position_embeddings": {},
           "tie_word_embeddings": false}})",
      sizes.block_count, sizes.hidden, sizes.head_count, sizes.kv_head_count, sizes.head_size,
      sizes.feed_forward, sizes.vocabulary, sizes.max_sequence);
  return profiler::read_model_config(config, sizes.name, sizes.name, {}).model;
}

Model llama_405b() {
  return llama_of({.name = "llama-3.1-405b",
                   .block_count = 126,
                   .hidden = 16384,
                   .head_count = 128,
                   .kv_head_count = 8,
                   .feed_forward = 53248,
                   .max_sequence = 131072});
}

Model mixed_61_layers() {
  constexpr int kDenseCount = 3;
  ModelSizes sizes{.name = "mixed-61",
                   .block_count = 61,
                   .hidden = 7168,
                   .head_count = 128,
                   .kv_head_count = 128,
                   .feed_forward = 18432,
                   .vocabulary = 129280,
                   .max_sequence = 4096};
  Model model = llama_of(sizes);
  sizes.feed_forward = 24576;
  LayerKind second = llama_of(sizes).kinds[1];
  second.name = "block_second";
  model.kinds.push_back(std::move(second));
  for (std::size_t block = 1 + kDenseCount; block + 1 < model.layers.size(); ++block) {
    model.layers[block].kind = static_cast<int>(model.kinds.size()) - 1;
  }
  return model;
}

Profile estimated_profile(const Model& model, const EstimatedProfileOptions& options) {
  return profiler::estimate(model, {.device = profiler::find_data_sheet(options.device),
                                    .cluster = options.cluster,
                                    .micro_batches = options.micro_batches,
                                    .sequences = options.sequences,
                                    .tensor_degrees = profiler::tensor_degrees(
                                        model, std::min(8, options.cluster.devices_per_node))});
}

}  // namespace ppplan::testing
