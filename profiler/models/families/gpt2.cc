// GPT-2: transformers' models/gpt2. Learned positions, LayerNorm before, one projection for query,
// key and value, matrices stored [in, out].
#include "profiler/models/families/families.h"
#include "profiler/models/kind_builder.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace ppplan::profiler {
namespace {

struct Gpt2 {
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t layer_count = 0;
  std::int64_t head_count = 0;
  std::int64_t feed_forward = 0;
  std::int64_t max_sequence = 0;
  Activation activation = Activation::kGeluTanh;
  double norm_epsilon = 0.0;
  double init_std = 0.0;
  bool is_tied = true;
};

/// GPT-2's own key, or the general one when that is there: transformers maps it, and it wins.
std::string_view spelling(const Config& config, std::string_view own, std::string_view general) {
  return config.fields().mentions(general) ? general : own;
}

/// Options of the class that change the arithmetic and that the operators do not have.
void refuse_variants(const Config& config) {
  const auto expect = [&](std::string_view key, bool expected) {
    if (config.flag(key, expected) == expected) return;
    config.fields().fail(key, fmt::format("expected {}, found {}", expected, !expected),
                         "this variant of GPT-2 is not supported");
  };
  expect("scale_attn_weights", true);
  expect("scale_attn_by_inverse_layer_idx", false);
  expect("add_cross_attention", false);
}

Gpt2 read_gpt2(const Config& config) {
  refuse_variants(config);
  Gpt2 shape;
  const std::string_view hidden_key = spelling(config, "n_embd", "hidden_size");
  shape.vocabulary = config.size("vocab_size", 50257);
  shape.hidden = config.size(hidden_key, 768, kLargestDimension / 4);
  shape.layer_count =
      config.size(spelling(config, "n_layer", "num_hidden_layers"), 12, kMostLayers);
  shape.head_count = config.size(spelling(config, "n_head", "num_attention_heads"), 12);
  shape.feed_forward = config.size_or_null("n_inner").value_or(4 * shape.hidden);
  shape.max_sequence =
      config.size(spelling(config, "n_positions", "max_position_embeddings"), 1024);
  shape.activation = config.activation("activation_function", "gelu_new");
  shape.norm_epsilon = config.number("layer_norm_epsilon", 1e-5, {0.0, 1.0});
  shape.init_std = config.init_std();
  shape.is_tied = config.flag("tie_word_embeddings", true);
  check_heads_divide(config, hidden_key, shape.hidden, shape.head_count);
  config.warn_about_dropout({"resid_pdrop", "embd_pdrop", "attn_pdrop"}, 0.1);
  return shape;
}

LayerKind embedding_kind(const Gpt2& shape) {
  return KindBuilder("embedding", LayerRole::kEmbedding, shape.init_std)
      .embedding("wte", shape.vocabulary, shape.hidden)
      .position_embedding("wpe", shape.max_sequence, shape.hidden)
      .build();
}

LayerKind block_kind(const Gpt2& s) {
  // Radford et al. 2019, section 2.3: weights that end a residual path start smaller by
  // 1 / sqrt(N), N residual paths, two a block.
  const double residual_std = s.init_std / std::sqrt(2.0 * static_cast<double>(s.layer_count));
  const auto projection = [](std::string name, std::int64_t in, std::int64_t out,
                             std::optional<double> std = {}) {
    return LinearSpec{std::move(name), in, out, true, WeightLayout::kInOut, std};
  };
  KindBuilder block("block", LayerRole::kBlock, s.init_std);
  block.layer_norm("x", "h", {"ln_1", s.hidden, s.norm_epsilon});
  block.linear("h", "qkv", projection("attn.c_attn", s.hidden, 3 * s.hidden));
  block.apply({"qkv"}, {"q", "k", "v"}, SplitOp{{s.hidden, s.hidden, s.hidden}});
  block.apply({"q", "k", "v"}, {"a"},
              AttentionOp{s.head_count, s.head_count, s.hidden / s.head_count, std::nullopt});
  block.linear("a", "a", projection("attn.c_proj", s.hidden, s.hidden, residual_std));
  block.apply({"x", "a"}, {"x"}, AddOp{});
  block.layer_norm("x", "h", {"ln_2", s.hidden, s.norm_epsilon});
  block.linear("h", "f", projection("mlp.c_fc", s.hidden, s.feed_forward));
  block.apply({"f"}, {"f"}, ActivationOp{s.activation});
  block.linear("f", "f", projection("mlp.c_proj", s.feed_forward, s.hidden, residual_std));
  block.apply({"x", "f"}, {"x"}, AddOp{});
  return block.build();
}

LayerKind head_kind(const Gpt2& shape) {
  KindBuilder head("head", LayerRole::kHead, shape.init_std);
  head.layer_norm("x", "x", {"transformer.ln_f", shape.hidden, shape.norm_epsilon});
  head.cross_entropy("lm_head", shape.vocabulary, shape.hidden);
  return head.build();
}

}  // namespace

Model describe_gpt2(const Config& config) {
  const Gpt2 shape = read_gpt2(config);
  Model model;
  model.hidden = shape.hidden;
  model.vocabulary = shape.vocabulary;
  model.max_sequence = shape.max_sequence;
  model.kinds = {embedding_kind(shape), block_kind(shape), head_kind(shape)};
  model.layers.push_back({.prefix = "transformer.", .kind = 0, .tied = {}});
  for (std::int64_t layer = 0; layer < shape.layer_count; ++layer) {
    model.layers.push_back(
        {.prefix = fmt::format("transformer.h.{}.", layer), .kind = 1, .tied = {}});
  }
  model.layers.push_back({.prefix = "", .kind = 2, .tied = {}});
  if (shape.is_tied) {
    model.layers.back().tied = {{.name = "lm_head.weight", .owner = "transformer.wte.weight"}};
  }
  return model;
}

}  // namespace ppplan::profiler
