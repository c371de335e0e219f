// What a layer costs on paper: parameters, floating-point operations and bytes, from its program
// alone. Conventions stand here once; everything that shows or checks a count uses them.
#pragma once

#include "reports/documents/model.h"
#include "reports/documents/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::profiler {

/// Bytes a number takes in each role. The optimizer is AdamW.
struct Precision {
  const char* name = "float32";
  int parameter_bytes = 4;
  int gradient_bytes = 4;
  int optimizer_bytes =
      8;  ///< two moments; a float32 copy of the weight too when those are shorter
  int activation_bytes = 4;
};

inline constexpr Precision kFloat32{};
/// Rajbhandari et al. 2020 (ZeRO), section 3.1: 2 + 2 + 12 bytes a parameter.
inline constexpr Precision kMixedBfloat16{.name = "bfloat16",
                                          .parameter_bytes = 2,
                                          .gradient_bytes = 2,
                                          .optimizer_bytes = 12,
                                          .activation_bytes = 2};

/// Longer samples are a slip.
inline constexpr std::int64_t kLongestSequence = 1'000'000'000;

struct CountOptions {
  std::int64_t sequence = 0;  ///< tokens a sample, at least 1
  Precision precision = kFloat32;
};

/// Of one layer, or of a whole model.
struct LayerCounts {
  std::int64_t parameter_count = 0;
  /// Forward and backward, a token: three times the forward's matrix products, two operations a
  /// multiply-add. Attention counts only the (query, key) pairs that its mask lets through: a token
  /// of a sample of S sees (S + 1) / 2 positions on average when causal, fewer with a window.
  /// (Narayanan et al. 2021, appendix, counts all S.) Norms, activations, additions and embedding
  /// look-ups count 0.
  double training_flops_per_token = 0.0;
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer;
  /// Kept from forward to backward, a token, without recomputing layers and
  /// with attention that never stores scores; a value that several operators keep counts once, and
  /// a layer's own input counts where the layer keeps it. counts.cc states what each operator
  /// keeps. For a GPT block this is the 34 bytes * hidden of Korthikanti et al. 2022, section 4.1,
  /// less its two dropout masks, plus the norms' and the softmax's statistics.
  Bytes activations_per_token;
};

/// Counts a layer as if it were alone: all parameters of its kind are its own. Throws
/// Error(kBadInput) for what exceeds 63 bits. O(operators).
LayerCounts count_kind(const Model& model, int kind, const CountOptions& options);

/// Counts a layer within its model: a parameter that is an earlier layer's tensor takes no bytes
/// here. Throws as count_kind does. O(operators).
LayerCounts count_layer(const Model& model, int layer, const CountOptions& options);

/// The sum of count_layer over all layers. O(layers + operators).
LayerCounts count_model(const Model& model, const CountOptions& options);

/// Positions a token attends to, averaged over a sample: itself and those before it, at most
/// `window` in all.
double mean_context(std::int64_t sequence, std::optional<std::int64_t> window);

/// Refuses a sample longer than the positions a model has learned (rotary models have no such
/// table) with Error(kBadInput).
void check_sequence(const Model& model, std::int64_t sequence);

/// What to tell the user of a sample longer than the model was made for; empty when it is not.
std::optional<std::string> sequence_warning(const Model& model, std::int64_t sequence);

}  // namespace ppplan::profiler
