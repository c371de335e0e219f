#include "profiler/models/families/llama_like.h"

#include "profiler/models/kind_builder.h"
#include "profiler/models/rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ppplan::profiler {
namespace {

std::int64_t read_kv_heads(const Config& config, const LlamaDefaults& defaults,
                           std::int64_t head_count) {
  constexpr std::string_view kKey = "num_key_value_heads";
  const bool is_null = config.fields().mentions(kKey) && !config.fields().has(kKey);
  if (!config.fields().mentions(kKey) && !defaults.kv_head_count) {
    config.warn(kKey, fmt::format("absent, so each of {} heads has its own keys and values; if the "
                                  "model groups its heads, its count is wrong",
                                  head_count));
  }
  const std::int64_t count =
      is_null ? head_count : config.size(kKey, defaults.kv_head_count.value_or(head_count));
  if (head_count % count != 0) {
    config.fields().fail(
        kKey, fmt::format("expected a divisor of {} heads, found {}", head_count, count));
  }
  return count;
}

std::int64_t read_head_size(const Config& config, const LlamaDefaults& defaults,
                            const LlamaLike& shape) {
  constexpr std::string_view kKey = "head_dim";
  if (defaults.head_size) return config.size(kKey, *defaults.head_size);
  if (const std::optional<std::int64_t> given = config.size_or_null(kKey)) return *given;
  check_heads_divide(config, "hidden_size", shape.hidden, shape.head_count);
  return shape.hidden / shape.head_count;
}

void check_attention_width(const Config& config, const LlamaLike& shape) {
  if (shape.head_size <= kLargestDimension / shape.head_count) return;
  config.fields().fail("head_dim",
                       fmt::format("expected at most {} features in {} heads, found {} each",
                                   kLargestDimension, shape.head_count, shape.head_size));
}

LayerKind embedding_kind(const LlamaLike& shape) {
  return KindBuilder("embedding", LayerRole::kEmbedding, shape.init_std)
      .embedding("embed_tokens", shape.vocabulary, shape.hidden)
      .build();
}

void add_attention(KindBuilder& block, const LlamaLike& s, std::optional<std::int64_t> window) {
  const std::int64_t query_width = s.head_count * s.head_size;
  const std::int64_t kv_width = s.kv_head_count * s.head_size;
  block.rms_norm("x", "h", {"input_layernorm", s.hidden, s.norm_epsilon});
  block.linear("h", "q", {"self_attn.q_proj", s.hidden, query_width, s.has_query_bias});
  block.linear("h", "k", {"self_attn.k_proj", s.hidden, kv_width, s.has_query_bias});
  block.linear("h", "v", {"self_attn.v_proj", s.hidden, kv_width, s.has_query_bias});
  if (s.has_query_norm) {
    block.rms_norm("q", "q", {"self_attn.q_norm", s.head_size, s.norm_epsilon});
    block.rms_norm("k", "k", {"self_attn.k_norm", s.head_size, s.norm_epsilon});
  }
  block.apply({"q"}, {"q"}, s.rope).apply({"k"}, {"k"}, s.rope);
  block.apply({"q", "k", "v"}, {"a"},
              AttentionOp{s.head_count, s.kv_head_count, s.head_size, window});
  block.linear("a", "a", {"self_attn.o_proj", query_width, s.hidden, s.has_output_bias});
  block.apply({"x", "a"}, {"x"}, AddOp{});
}

void add_feed_forward(KindBuilder& block, const LlamaLike& s) {
  block.rms_norm("x", "h", {"post_attention_layernorm", s.hidden, s.norm_epsilon});
  block.linear("h", "gate", {"mlp.gate_proj", s.hidden, s.feed_forward, s.has_mlp_bias});
  block.linear("h", "up", {"mlp.up_proj", s.hidden, s.feed_forward, s.has_mlp_bias});
  block.apply({"gate", "up"}, {"f"}, GatedActivationOp{s.activation});
  block.linear("f", "f", {"mlp.down_proj", s.feed_forward, s.hidden, s.has_mlp_bias});
  block.apply({"x", "f"}, {"x"}, AddOp{});
}

LayerKind block_kind(const LlamaLike& shape, std::optional<std::int64_t> window) {
  KindBuilder block(window ? "block_sliding" : "block", LayerRole::kBlock, shape.init_std);
  add_attention(block, shape, window);
  add_feed_forward(block, shape);
  return block.build();
}

LayerKind head_kind(const LlamaLike& shape) {
  KindBuilder head("head", LayerRole::kHead, shape.init_std);
  head.rms_norm("x", "x", {"model.norm", shape.hidden, shape.norm_epsilon});
  head.cross_entropy("lm_head", shape.vocabulary, shape.hidden);
  return head.build();
}

}  // namespace

LlamaLike read_llama_like(const Config& config, const LlamaDefaults& defaults) {
  LlamaLike shape;
  shape.vocabulary = config.size("vocab_size", defaults.vocabulary);
  shape.hidden = config.size("hidden_size", defaults.hidden);
  shape.feed_forward = config.size("intermediate_size", defaults.feed_forward);
  shape.head_count = config.size("num_attention_heads", defaults.head_count);
  shape.kv_head_count = read_kv_heads(config, defaults, shape.head_count);
  shape.head_size = read_head_size(config, defaults, shape);
  check_attention_width(config, shape);
  shape.max_sequence = config.size("max_position_embeddings", defaults.max_sequence);
  shape.activation = config.activation("hidden_act", "silu");
  shape.norm_epsilon = config.number("rms_norm_eps", 1e-6, {0.0, 1.0});
  shape.init_std = config.init_std();
  shape.rope = read_rope(config, shape.head_size, shape.max_sequence);
  shape.is_tied = config.flag("tie_word_embeddings", false);
  shape.windows.resize(static_cast<std::size_t>(
      config.size("num_hidden_layers", defaults.layer_count, kMostLayers)));
  config.warn_about_dropout({"attention_dropout"}, 0.0);
  return shape;
}

void read_qwen_windows(const Config& config, LlamaLike& shape) {
  std::optional<std::int64_t> window;
  if (config.flag("use_sliding_window", false)) {
    window = config.fields().mentions("sliding_window") ? config.size_or_null("sliding_window")
                                                        : std::optional<std::int64_t>(4096);
  }
  const auto layer_count = static_cast<std::int64_t>(shape.windows.size());
  const std::optional<std::vector<std::string>> types =
      read_layer_types(config.fields(), layer_count);
  if (!types) {
    const std::int64_t first_sliding =
        config.fields().mentions("max_window_layers")
            ? config.fields().integer("max_window_layers", {0, kLargestDimension})
            : 28;
    for (std::int64_t layer = first_sliding; layer < layer_count; ++layer) {
      shape.windows[static_cast<std::size_t>(layer)] = window;
    }
    return;
  }
  for (std::size_t layer = 0; layer < types->size(); ++layer) {
    const std::string& type = (*types)[layer];
    if (type == "full_attention" || type == "attention") continue;
    if (type != "sliding_attention") {
      config.fields().fail("layer_types",
                           fmt::format("expected full_attention or sliding_attention for layer {}, "
                                       "found {}",
                                       layer, type));
    }
    if (!window) {
      config.fields().fail("layer_types",
                           fmt::format("layer {} slides, but no window is set", layer),
                           "set use_sliding_window to true and sliding_window to its size");
    }
    shape.windows[layer] = window;
  }
}

Model describe(const LlamaLike& shape) {
  Model model;
  model.hidden = shape.hidden;
  model.vocabulary = shape.vocabulary;
  model.max_sequence = shape.max_sequence;
  model.kinds.push_back(embedding_kind(shape));
  model.layers.push_back({.prefix = "model.", .kind = 0, .tied = {}});
  std::vector<std::optional<std::int64_t>> known;  // known[n] is the window of kind n + 1
  for (std::size_t layer = 0; layer < shape.windows.size(); ++layer) {
    const auto at = std::find(known.begin(), known.end(), shape.windows[layer]);
    const auto kind = static_cast<int>(at - known.begin()) + 1;
    if (at == known.end()) {
      known.push_back(shape.windows[layer]);
      model.kinds.push_back(block_kind(shape, shape.windows[layer]));
    }
    model.layers.push_back(
        {.prefix = fmt::format("model.layers.{}.", layer), .kind = kind, .tied = {}});
  }
  model.layers.push_back({.prefix = "", .kind = static_cast<int>(model.kinds.size()), .tied = {}});
  model.kinds.push_back(head_kind(shape));
  if (shape.is_tied) {
    model.layers.back().tied = {{.name = "lm_head.weight", .owner = "model.embed_tokens.weight"}};
  }
  return model;
}

}  // namespace ppplan::profiler
