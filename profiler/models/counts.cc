#include "profiler/models/counts.h"

#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ppplan::profiler {
namespace {

// S sequence, W window, H query heads, E head size, V vocabulary; as in model.h.

constexpr std::int64_t kStatisticBytes = 4;  // norms and softmax keep their statistics in float32
constexpr int kTokenBytes = 8;               // tokens and labels are 64-bit integers

[[noreturn]] void too_large() {
  throw Error(Failure::kBadInput, "the model's counts do not fit 63 bits",
              "check the configuration's sizes");
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) too_large();
  return result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) too_large();
  return result;
}

void add(Bytes& total, Bytes more) {
  total.count = sum(total.count, more.count);
}

/// Walks a program, giving every assigned value its size and noting what backward will need.
class Walk {
 public:
  Walk(const Model& model, const LayerKind& kind, const CountOptions& options)
      : kind_(&kind), options_(&options) {
    define("tokens", 1, kTokenBytes);
    define("labels", 1, kTokenBytes);
    define("x", model.hidden, options.precision.activation_bytes);
    for (const Operator& op : kind.program) {
      op_ = &op;
      std::visit([this](const auto& body) { visit(body); }, op.body);
    }
  }

  [[nodiscard]] double forward_flops() const { return forward_flops_; }

  [[nodiscard]] Bytes kept() const {
    std::int64_t bytes = extra_bytes_;
    for (const Value& value : values_) {
      if (value.is_kept) bytes = sum(bytes, product(value.elements, value.element_bytes));
    }
    return {bytes};
  }

 private:
  struct Value {
    std::int64_t elements = 0;  ///< a token
    int element_bytes = 0;
    bool is_kept = false;
  };

  void define(const std::string& name, std::int64_t elements, int element_bytes) {
    current_[name] = values_.size();
    values_.push_back({elements, element_bytes});
  }
  /// A new version of an output: what read the old one keeps the old one.
  void assign(std::size_t output, std::int64_t elements) {
    define(op_->outputs.at(output), elements, options_->precision.activation_bytes);
  }
  Value& input(std::size_t index) { return values_.at(current_.at(op_->inputs.at(index))); }
  void keep_input(std::size_t index) { input(index).is_kept = true; }
  void keep_output(std::size_t index) {
    values_.at(current_.at(op_->outputs.at(index))).is_kept = true;
  }
  void keep_bytes(std::int64_t bytes) { extra_bytes_ = sum(extra_bytes_, bytes); }

  /// Keeps the tokens.
  void visit(const EmbeddingOp& body) {
    keep_input(0);
    assign(0, width_of(body.weight));
  }
  /// Keeps nothing: the gradient of a sum needs no value.
  void visit(const PositionEmbeddingOp& /*body*/) { assign(0, input(0).elements); }
  /// Keeps its input.
  void visit(const LinearOp& body) {
    keep_input(0);
    forward_flops_ +=
        2.0 * static_cast<double>(body.in_features) * static_cast<double>(body.out_features);
    assign(0, body.out_features);
  }
  /// Keeps its input and a reciprocal root mean square a group.
  void visit(const RmsNormOp& body) { norm(body.width, 1); }
  /// Keeps its input, a mean and a reciprocal deviation a group.
  void visit(const LayerNormOp& body) { norm(body.width, 2); }
  void norm(std::int64_t width, int statistic_count) {
    keep_input(0);
    const std::int64_t elements = input(0).elements;
    keep_bytes(product(elements / width, statistic_count * kStatisticBytes));
    assign(0, elements);
  }
  /// Keeps nothing a token: sines and cosines are shared by all layers and samples.
  void visit(const RopeOp& /*body*/) { assign(0, input(0).elements); }
  /// Keeps query, key, value, its output, and a log-sum-exp for each head (Dao et al. 2022,
  /// section 3.1).
  void visit(const AttentionOp& body) {
    for (std::size_t index = 0; index < 3; ++index) keep_input(index);
    keep_bytes(product(body.head_count, kStatisticBytes));
    const std::int64_t width = product(body.head_count, body.head_size);
    forward_flops_ +=
        4.0 * static_cast<double>(width) * mean_context(options_->sequence, body.window);
    assign(0, width);
    keep_output(0);
  }
  /// Keeps its input.
  void visit(const ActivationOp& /*body*/) {
    keep_input(0);
    assign(0, input(0).elements);
  }
  /// Keeps gate and up; the activated gate is computed again in backward.
  void visit(const GatedActivationOp& /*body*/) {
    keep_input(0);
    keep_input(1);
    assign(0, input(0).elements);
  }
  /// Keeps nothing.
  void visit(const AddOp& /*body*/) { assign(0, input(0).elements); }
  /// Keeps nothing: the parts are views, and count when somebody keeps them.
  void visit(const SplitOp& body) {
    for (std::size_t output = 0; output < body.widths.size(); ++output) {
      assign(output, body.widths[output]);
    }
  }
  /// Keeps its input and V probabilities, from which the logits' gradient is made in place.
  void visit(const LinearCrossEntropyOp& body) {
    keep_input(0);
    keep_bytes(product(body.vocabulary, options_->precision.activation_bytes));
    forward_flops_ +=
        2.0 * static_cast<double>(body.in_features) * static_cast<double>(body.vocabulary);
  }

  [[nodiscard]] std::int64_t width_of(std::string_view parameter) const {
    const auto found =
        std::find_if(kind_->parameters.begin(), kind_->parameters.end(),
                     [&](const Parameter& candidate) { return candidate.name == parameter; });
    return found->shape.at(1);
  }

  const LayerKind* kind_;
  const CountOptions* options_;
  const Operator* op_ = nullptr;
  std::vector<Value> values_;
  std::map<std::string, std::size_t, std::less<>> current_;
  std::int64_t extra_bytes_ = 0;
  double forward_flops_ = 0.0;
};

void set_parameters(LayerCounts& counts, std::int64_t count, const Precision& precision) {
  counts.parameter_count = count;
  counts.parameters = {product(count, precision.parameter_bytes)};
  counts.gradients = {product(count, precision.gradient_bytes)};
  counts.optimizer = {product(count, precision.optimizer_bytes)};
}

/// Parameters of the layer that are no earlier layer's tensor.
std::int64_t owned_parameter_count(const Layer& layer, const LayerKind& kind) {
  LayerKind owned{.name = {}, .parameters = kind.parameters, .program = {}};
  std::erase_if(owned.parameters, [&](const Parameter& parameter) {
    return std::any_of(layer.tied.begin(), layer.tied.end(),
                       [&](const TiedParameter& tied) { return tied.name == parameter.name; });
  });
  return parameter_count(owned);
}

}  // namespace

LayerCounts count_kind(const Model& model, int kind, const CountOptions& options) {
  const LayerKind& counted = model.kinds.at(static_cast<std::size_t>(kind));
  const Walk walk(model, counted, options);
  LayerCounts counts;
  set_parameters(counts, parameter_count(counted), options.precision);
  counts.training_flops_per_token = 3.0 * walk.forward_flops();
  counts.activations_per_token = walk.kept();
  return counts;
}

LayerCounts count_layer(const Model& model, int layer, const CountOptions& options) {
  const Layer& counted = model.layers.at(static_cast<std::size_t>(layer));
  const LayerKind& kind = model.kinds.at(static_cast<std::size_t>(counted.kind));
  LayerCounts counts = count_kind(model, counted.kind, options);
  set_parameters(counts, owned_parameter_count(counted, kind), options.precision);
  return counts;
}

LayerCounts count_model(const Model& model, const CountOptions& options) {
  std::vector<LayerCounts> kinds;
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    kinds.push_back(count_kind(model, static_cast<int>(kind), options));
  }
  LayerCounts total;
  for (const Layer& layer : model.layers) {
    const LayerCounts& kind = kinds.at(static_cast<std::size_t>(layer.kind));
    total.training_flops_per_token += kind.training_flops_per_token;
    add(total.activations_per_token, kind.activations_per_token);
  }
  set_parameters(total, parameter_count(model), options.precision);
  return total;
}

double mean_context(std::int64_t sequence, std::optional<std::int64_t> window) {
  const auto s = static_cast<double>(sequence);
  const double w = std::min(s, static_cast<double>(window.value_or(sequence)));
  return (w * (w + 1.0) / 2.0 + (s - w) * w) / s;
}

void check_sequence(const Model& model, std::int64_t sequence) {
  for (const LayerKind& kind : model.kinds) {
    for (const Operator& op : kind.program) {
      if (!std::holds_alternative<PositionEmbeddingOp>(op.body)) continue;
      if (sequence <= model.max_sequence) continue;
      throw Error(
          Failure::kBadInput,
          fmt::format("sequence: expected at most the {} positions {} has learned, found {}",
                      model.max_sequence, model.name, sequence),
          "give a shorter sequence");
    }
  }
}

std::optional<std::string> sequence_warning(const Model& model, std::int64_t sequence) {
  if (sequence <= model.max_sequence) return std::nullopt;
  return fmt::format("sequence {} is more than the {} positions {} was made for", sequence,
                     model.max_sequence, model.name);
}

}  // namespace ppplan::profiler
