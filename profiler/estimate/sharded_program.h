// A layer kind's program as one of the devices that share it runs it: which products, how much is
// moved, and which values stay for the backward pass.
//
// Tensor parallelism is Megatron-LM's with sequence parallelism (Shoeybi et al. 2019, section 3;
// Korthikanti et al. 2022, section 4.2.2): a product that reads whole features is cut by columns,
// one that reads a device's share of the features is cut by rows, and between those pairs the
// tokens are divided. So each value is divided by t in one way or the other. Before a product by
// columns the tokens are gathered, after one by rows they are reduced and scattered. Products of
// one value (query, key and value; gate and up) are one kernel, as in the trainers.
//
// Context parallelism gives each device an equal share of every sample's tokens, in an order that
// also divides the attention's work equally; keys and values are gathered before the attention, and
// their gradients reduced and scattered after its backward (Grattafiori et al. 2024, The Llama 3
// herd of models, section 3.3.2).
#pragma once

#include "profiler/models/counts.h"
#include "reports/documents/model.h"
#include "reports/documents/profile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::profiler {

/// How the attention core is computed.
enum class AttentionKernel {
  kFlash,  ///< scores never stored (Dao 2023); backward computes them again
  kMath,   ///< scores stored: [B,H,S,S]
};

struct ProgramOptions {
  std::int64_t sequence = 1;
  int tensor = 1;   ///< t; divides the program (see indivisible)
  int context = 1;  ///< divides the sequence
  AttentionKernel attention = AttentionKernel::kFlash;
  bool dropout =
      false;  ///< masks on each branch before its addition, on stored scores, on embeddings
  Precision precision;
};

/// Why a kind cannot be cut into `tensor` parts; empty when it can.
std::optional<std::string> indivisible(const LayerKind& kind, int tensor);

/// A tensor that a step makes. Sizes are a token's, over all devices that share it.
struct ProgramValue {
  std::int64_t bytes = 0;
  std::int64_t gradient_bytes = 0;  ///< 0 of what has no gradient
  bool is_scores = false;  ///< attention's scores or a head's logits: the first to be recomputed
  bool is_kept = false;    ///< from forward to backward when nothing is recomputed
};

/// The shares of one device.
struct ProductShape {
  std::int64_t inner = 0;
  std::int64_t columns = 0;
};

struct AttentionShape {
  std::int64_t heads = 0;  ///< of this device
  std::int64_t head_size = 0;
  double context = 0.0;  ///< positions a token sees, on average
};

struct ProgramStep {
  enum class Kind {
    kStream,    ///< token by token, limited by memory
    kAddition,  ///< passes its gradient on as it is
    kView,      ///< its outputs are parts of its input
    kProduct,
    kAttention,  ///< the only kind in which tokens meet
    kCrossEntropy,
  };
  Kind kind = Kind::kStream;
  std::vector<int> inputs;  ///< values; labels are none
  std::vector<int> outputs;
  std::vector<int> keeps;  ///< values that its backward needs
  ProductShape product;    ///< of kProduct and kCrossEntropy
  AttentionShape attention;
  /// Moved for a token, beside the product: on this device.
  double forward_bytes = 0.0;
  double backward_bytes = 0.0;
  double weight_bytes = 0.0;  ///< for the weights' gradients
  /// There while the step runs: tokens gathered before, or to be scattered after it.
  std::int64_t forward_workspace = 0;
  std::int64_t backward_workspace = 0;
};

struct ShardedProgram {
  Sharding sharding;
  std::vector<ProgramValue> values;
  int input = 0;   ///< value: tokens or x
  int output = 0;  ///< value: x or loss
  std::vector<ProgramStep> steps;
  std::int64_t parameter_count = 0;  ///< on one device
  /// For one token of a device; `size` grows with the tokens.
  std::vector<Collective> collectives;
};

/// Precondition: !indivisible(kind, options.tensor). Throws Error(kBadInput) for sizes beyond 2^53
/// bytes. O(operators).
ShardedProgram shard_program(const Model& model, const LayerKind& kind,
                             const ProgramOptions& options);

}  // namespace ppplan::profiler
