// The decoder that Llama, Mistral and Qwen share: RMSNorm before, rotary grouped-query attention,
// gated feed-forward. The families differ in defaults and in the options below.
#pragma once

#include "profiler/models/config.h"
#include "reports/documents/model.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ppplan::profiler {

/// What a family's configuration class assumes for keys that are absent.
struct LlamaDefaults {
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 4096;
  std::int64_t feed_forward = 0;
  std::int64_t layer_count = 32;
  std::int64_t head_count = 32;
  std::optional<std::int64_t> kv_head_count = {};  ///< empty: as many as heads, with a warning
  std::optional<std::int64_t> head_size = {};      ///< empty: hidden / heads, also for null
  std::int64_t max_sequence = 0;
};

/// Everything that decides such a model's tensors and operators.
struct LlamaLike {
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t feed_forward = 0;
  std::int64_t head_count = 0;
  std::int64_t kv_head_count = 0;
  std::int64_t head_size = 0;
  std::int64_t max_sequence = 0;
  Activation activation = Activation::kSilu;
  double norm_epsilon = 0.0;
  double init_std = 0.0;
  RopeOp rope;
  bool has_query_bias = false;   ///< of the query, key and value projections
  bool has_output_bias = false;  ///< of the attention's output projection
  bool has_mlp_bias = false;
  bool has_query_norm = false;                       ///< RMSNorm of each query and key head
  bool is_tied = false;                              ///< head and embedding are one tensor
  std::vector<std::optional<std::int64_t>> windows;  ///< by layer: sliding window, if any
};

/// Reads the keys all these families have. Biases and norms are left off and no layer has a window.
/// Throws when heads do not divide the hidden size (unless head_dim is given) or key/value heads do
/// not divide the heads.
LlamaLike read_llama_like(const Config& config, const LlamaDefaults& defaults);

/// Qwen's rule: layers of type "sliding_attention", or, without `layer_types`, those from
/// `max_window_layers` on, see `sliding_window` positions when `use_sliding_window` is set.
void read_qwen_windows(const Config& config, LlamaLike& shape);

/// The model: embedding, one block a window, head.
Model describe(const LlamaLike& shape);

}  // namespace ppplan::profiler
