// The model document: the layers of a model in order, each of a kind, each kind a short program of
// operators over named values. The torch-free counts and the torch modules both interpret it, so a
// model family is written once.
#pragma once

#include "reports/documents/node.h"
#include "reports/documents/units.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ppplan {

/// How a parameter starts when no weights are given.
enum class Init { kNormal, kZeros, kOnes };

/// A trainable tensor of a layer kind. `name` is relative to the layer ("self_attn.q_proj.weight").
struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  Init init = Init::kNormal;
  double init_std = 0.0;  ///< of kNormal

  bool operator==(const Parameter&) const = default;
};

/// A matrix is stored [out, in] (torch Linear) or [in, out] (GPT-2's Conv1D).
enum class WeightLayout { kOutIn, kInOut };
enum class Activation { kSilu, kGelu, kGeluTanh, kRelu };

// Shape letters: B micro-batch, S sequence, D hidden, H query heads, K key/value heads, E head
// size, F feed-forward width, V vocabulary.

/// tokens [B,S] -> [B,S,D]
struct EmbeddingOp {
  std::string weight;
  bool operator==(const EmbeddingOp&) const = default;
};
/// [B,S,D] -> [B,S,D], adds row s of `weight` [positions, D] at place s
struct PositionEmbeddingOp {
  std::string weight;
  bool operator==(const PositionEmbeddingOp&) const = default;
};
/// [..., in] -> [..., out]
struct LinearOp {
  std::string weight;
  std::optional<std::string> bias;
  std::int64_t in_features = 0;
  std::int64_t out_features = 0;
  WeightLayout layout = WeightLayout::kOutIn;
  bool operator==(const LinearOp&) const = default;
};
/// Root-mean-square norm over groups of `width` adjacent features (width = D, or E for QK-norm).
struct RmsNormOp {
  std::string weight;
  std::int64_t width = 0;
  double epsilon = 0.0;
  bool operator==(const RmsNormOp&) const = default;
};
struct LayerNormOp {
  std::string weight;
  std::string bias;
  std::int64_t width = 0;
  double epsilon = 0.0;
  bool operator==(const LayerNormOp&) const = default;
};
/// How rotary frequencies are stretched; `type` is Hugging Face's word: "default", "linear",
/// "llama3", or one the executor does not run ("yarn", "dynamic", ...).
struct RopeScaling {
  std::string type = "default";
  double factor = 1.0;
  double low_frequency_factor = 1.0;
  double high_frequency_factor = 1.0;
  std::int64_t original_positions = 0;
  bool operator==(const RopeScaling&) const = default;
};
/// Rotary position embedding (half-rotation form) on [B,S,heads*E]
struct RopeOp {
  std::int64_t head_size = 0;
  double theta = 0.0;
  RopeScaling scaling;
  bool operator==(const RopeOp&) const = default;
};
/// Causal attention: q [B,S,H*E], k and v [B,S,K*E] -> [B,S,H*E]; `window` limits how far back.
struct AttentionOp {
  std::int64_t head_count = 0;
  std::int64_t kv_head_count = 0;
  std::int64_t head_size = 0;
  std::optional<std::int64_t> window;
  bool operator==(const AttentionOp&) const = default;
};
/// [..., F] -> [..., F]
struct ActivationOp {
  Activation activation = Activation::kSilu;
  bool operator==(const ActivationOp&) const = default;
};
/// gate, up [..., F] -> activation(gate) * up
struct GatedActivationOp {
  Activation activation = Activation::kSilu;
  bool operator==(const GatedActivationOp&) const = default;
};
/// a, b -> a + b
struct AddOp {
  bool operator==(const AddOp&) const = default;
};
/// [..., sum(widths)] -> one output a width
struct SplitOp {
  std::vector<std::int64_t> widths;
  bool operator==(const SplitOp&) const = default;
};
/// Head and loss in one: x [B,S,D], labels [B,S] -> sum over labelled tokens of cross-entropy of
/// x * weight^T, weight [V,D]. A label < 0 is not counted.
struct LinearCrossEntropyOp {
  std::string weight;
  std::int64_t in_features = 0;
  std::int64_t vocabulary = 0;
  bool operator==(const LinearCrossEntropyOp&) const = default;
};

using OperatorBody = std::variant<EmbeddingOp, PositionEmbeddingOp, LinearOp, RmsNormOp,
                                  LayerNormOp, RopeOp, AttentionOp, ActivationOp, GatedActivationOp,
                                  AddOp, SplitOp, LinearCrossEntropyOp>;

/// One step of a layer kind's program. Values are named; a name may be assigned again.
struct Operator {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  OperatorBody body;
  bool operator==(const Operator&) const = default;
};

enum class LayerRole { kEmbedding, kBlock, kHead };

/// A kind of layer. Its program starts with "tokens" (embedding) or "x" (block, head) and, for a
/// head, "labels"; it ends having assigned "x" (embedding, block) or "loss" (head).
struct LayerKind {
  std::string name;  ///< "embedding", "block", "block_sliding", "head", ...
  LayerRole role = LayerRole::kBlock;
  std::vector<Parameter> parameters;
  std::vector<Operator> program;
  bool operator==(const LayerKind&) const = default;
};

/// A parameter that is the same tensor as one of an earlier layer.
struct TiedParameter {
  std::string name;   ///< in this layer's kind
  std::string owner;  ///< global name of the tensor that is stored
  bool operator==(const TiedParameter&) const = default;
};

/// A layer. `prefix` + parameter name is the global name of a tensor, as in the weights' files.
struct Layer {
  std::string prefix;  ///< "model.layers.3."; may be empty
  int kind = 0;        ///< index into Model::kinds
  std::vector<TiedParameter> tied;
  bool frozen = false;
  bool operator==(const Layer&) const = default;
};

struct Model {
  std::string name;    ///< as the user called it
  std::string family;  ///< "llama", "gpt2", ...
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;
  std::int64_t max_sequence = 0;  ///< positions the model was made for
  std::vector<LayerKind> kinds;
  std::vector<Layer> layers;
  bool operator==(const Model&) const = default;
};

/// Global names of a layer's parameters, in the kind's order; a tied one is its owner's name.
std::vector<std::string> parameter_names(const Model& model, int layer);

/// Elements of all tensors of one layer kind. Throws Error(kBadInput) beyond 2^62.
std::int64_t parameter_count(const LayerKind& kind);

/// Unique parameters: a tied tensor counts once. Throws Error(kBadInput) beyond 2^62.
std::int64_t parameter_count(const Model& model);

/// The model's mapping inside profile.yaml and plan.yaml. Reading checks that every program is well
/// formed (values assigned before use, parameters named, shapes that fit) and throws
/// Error(kBadInput) with the place otherwise.
Model read_model(const Fields& fields);
/// YAML text of the mapping, each line indented by `indent` spaces.
std::string write_model(const Model& model, int indent);

/// A model alone, as a document of its own; it throws as read_profile does.
Model read_model_file(std::string_view text, const std::string& name);
Model load_model_file(const std::filesystem::path& path);
std::string write_model_file(const Model& model);

}  // namespace ppplan
