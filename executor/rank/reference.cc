#include "executor/rank/reference.h"

#include "reports/documents/error.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

namespace ppplan::executor {
namespace {

using Values = std::map<std::string, at::Tensor>;  ///< of one layer's program, by name

/// What an operator of one layer sees.
struct Scope {
  const Values& values;
  const std::map<std::string, at::Tensor>& parameters;  ///< by name in the layer kind

  [[nodiscard]] const at::Tensor& input(const Operator& op, std::size_t place) const {
    return values.at(op.inputs[place]);
  }
};

/// x cos + rotate_half(x) sin on [B,S,H,E], with angles computed here and nowhere shared.
at::Tensor rotate(const RopeOp& rope, const at::Tensor& x) {
  const at::TensorOptions exact(at::kDouble);
  at::Tensor frequency = at::pow(
      rope.theta, at::arange(0, rope.head_size, 2, exact).neg().div(double(rope.head_size)));
  if (rope.scaling.type == "linear") {
    frequency = frequency / rope.scaling.factor;
  } else if (rope.scaling.type == "llama3") {
    const at::Tensor wavelength = (2.0 * M_PI) / frequency;
    const auto original = static_cast<double>(rope.scaling.original_positions);
    const double low = rope.scaling.low_frequency_factor;
    const double high = rope.scaling.high_frequency_factor;
    const at::Tensor smooth = (original / wavelength - low) / (high - low);
    const at::Tensor blended =
        (1.0 - smooth) * frequency / rope.scaling.factor + smooth * frequency;
    const at::Tensor stretched =
        at::where(wavelength > original / low, frequency / rope.scaling.factor, blended);
    frequency = at::where(wavelength < original / high, frequency, stretched);
  } else if (rope.scaling.type != "default") {
    throw Error(Failure::kBadInput, "rotary scaling '" + rope.scaling.type + "' cannot be run",
                "the executor runs default, linear and llama3");
  }
  const at::Tensor half_angles =
      at::outer(at::arange(x.size(1), at::TensorOptions(at::kFloat)), frequency.to(at::kFloat));
  const at::Tensor angles = at::cat({half_angles, half_angles}, -1).unsqueeze(1);  // [S,1,E]
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  return x * angles.cos() + at::cat({-halves[1], halves[0]}, -1) * angles.sin();
}

at::Tensor attend(const AttentionOp& op, const at::Tensor& q, const at::Tensor& k,
                  const at::Tensor& v) {
  const auto by_head = [&](const at::Tensor& x, std::int64_t heads) {
    return x.unflatten(-1, {heads, op.head_size}).transpose(1, 2);  // [B,H,S,E]
  };
  const std::int64_t sequence = q.size(1);
  const std::int64_t group = op.head_count / op.kv_head_count;
  const at::Tensor keys = by_head(k, op.kv_head_count).repeat_interleave(group, 1);
  const at::Tensor values = by_head(v, op.kv_head_count).repeat_interleave(group, 1);
  at::Tensor scores = at::matmul(by_head(q, op.head_count), keys.transpose(-1, -2)) /
                      std::sqrt(static_cast<double>(op.head_size));
  at::Tensor visible = at::ones({sequence, sequence}, at::TensorOptions(at::kBool)).tril();
  if (op.window) visible = visible.triu(1 - *op.window);
  scores = scores.masked_fill(visible.logical_not(), -std::numeric_limits<double>::infinity());
  return at::matmul(scores.softmax(-1), values).transpose(1, 2).flatten(2);
}

at::Tensor activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::kSilu:
      return x * x.sigmoid();
    case Activation::kGelu:
      return at::gelu(x, "none");
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
  }
  return {};
}

/// One overload an operator: its outputs.
struct Evaluate {
  const Operator& op;
  const Scope& scope;

  [[nodiscard]] const at::Tensor& in(std::size_t place) const { return scope.input(op, place); }
  [[nodiscard]] const at::Tensor& tensor(const std::string& name) const {
    return scope.parameters.at(name);
  }

  std::vector<at::Tensor> operator()(const EmbeddingOp& body) const {
    return {at::embedding(tensor(body.weight), in(0))};
  }
  std::vector<at::Tensor> operator()(const PositionEmbeddingOp& body) const {
    return {in(0) + tensor(body.weight).slice(0, 0, in(0).size(1))};
  }
  std::vector<at::Tensor> operator()(const LinearOp& body) const {
    const at::Tensor& weight = tensor(body.weight);
    const at::Tensor matrix = body.layout == WeightLayout::kOutIn ? weight : weight.t();
    const at::Tensor y = at::matmul(in(0), matrix.t());
    return {body.bias ? y + tensor(*body.bias) : y};
  }
  std::vector<at::Tensor> operator()(const RmsNormOp& body) const {
    const at::Tensor x = in(0).unflatten(-1, {-1, body.width});
    const at::Tensor y = x * (x.square().mean(-1, true) + body.epsilon).rsqrt();
    return {(y * tensor(body.weight)).flatten(-2)};
  }
  std::vector<at::Tensor> operator()(const LayerNormOp& body) const {
    return {
        at::layer_norm(in(0), {body.width}, tensor(body.weight), tensor(body.bias), body.epsilon)};
  }
  std::vector<at::Tensor> operator()(const RopeOp& body) const {
    return {rotate(body, in(0).unflatten(-1, {-1, body.head_size})).flatten(-2)};
  }
  std::vector<at::Tensor> operator()(const AttentionOp& body) const {
    return {attend(body, in(0), in(1), in(2))};
  }
  std::vector<at::Tensor> operator()(const ActivationOp& body) const {
    return {activate(body.activation, in(0))};
  }
  std::vector<at::Tensor> operator()(const GatedActivationOp& body) const {
    return {activate(body.activation, in(0)) * in(1)};
  }
  std::vector<at::Tensor> operator()(const AddOp& /*body*/) const { return {in(0) + in(1)}; }
  std::vector<at::Tensor> operator()(const SplitOp& body) const {
    return at::split_with_sizes(in(0), body.widths, -1);
  }
  std::vector<at::Tensor> operator()(const LinearCrossEntropyOp& body) const {
    const at::Tensor logits = at::matmul(in(0), tensor(body.weight).t());
    if (!in(1).defined()) return {logits};
    const at::Tensor chosen = logits.flatten(0, 1).log_softmax(-1);
    const at::Tensor labels = in(1).flatten();
    const at::Tensor picked = chosen.gather(1, labels.clamp_min(0).unsqueeze(1)).squeeze(1);
    return {-(picked * labels.ge(0)).sum(at::kDouble)};
  }
};

using Leaves = std::map<std::string, at::Tensor>;  ///< by global name

at::Tensor run_layers(const Model& model, const Leaves& leaves, const at::Tensor& tokens,
                      const at::Tensor& labels) {
  at::Tensor x = tokens;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const LayerKind& kind = model.kinds[static_cast<std::size_t>(model.layers[layer].kind)];
    const std::vector<std::string> names = parameter_names(model, static_cast<int>(layer));
    std::map<std::string, at::Tensor> parameters;
    for (std::size_t place = 0; place < names.size(); ++place) {
      parameters[kind.parameters[place].name] = leaves.at(names[place]);
    }
    Values values{{"tokens", x}, {"x", x}, {"labels", labels}};
    for (const Operator& op : kind.program) {
      const std::vector<at::Tensor> outputs =
          std::visit(Evaluate{op, Scope{values, parameters}}, op.body);
      for (std::size_t place = 0; place < outputs.size(); ++place) {
        values[op.outputs[place]] = outputs[place];
      }
    }
    x = values.at(kind.role == LayerRole::kHead ? "loss" : "x");
  }
  return x;
}

}  // namespace

void make_all_parameters(const Model& model, ParameterStore& store) {
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const LayerKind& kind = model.kinds[static_cast<std::size_t>(model.layers[layer].kind)];
    const std::vector<std::string> names = parameter_names(model, static_cast<int>(layer));
    for (std::size_t place = 0; place < names.size(); ++place) {
      store.get(names[place], kind.parameters[place], /*frozen=*/true);
    }
  }
}

ReferenceResult run_reference(const Model& model, const ParameterStore& store,
                              const std::vector<Batch>& slices) {
  Leaves leaves;
  for (const auto& [name, tensor] : store.all()) {
    leaves[name] = tensor->value.detach().requires_grad_(true);
  }
  ReferenceResult result;
  for (const Batch& slice : slices)
    result.token_count += slice.labels.ge(0).sum().item<std::int64_t>();
  for (const Batch& slice : slices) {
    const at::Tensor loss = run_layers(model, leaves, slice.tokens, slice.labels) /
                            static_cast<double>(result.token_count);
    torch::autograd::backward({loss}, {});
    result.loss += loss.item<double>();
  }
  for (const auto& [name, leaf] : leaves) {
    if (leaf.grad().defined()) result.gradients[name] = leaf.grad();
  }
  return result;
}

at::Tensor reference_logits(const Model& model, const ParameterStore& store,
                            const at::Tensor& tokens) {
  const torch::autograd::AutoGradMode no_gradients(false);
  Leaves leaves;
  for (const auto& [name, tensor] : store.all()) leaves[name] = tensor->value;
  return run_layers(model, leaves, tokens, at::Tensor());
}

}  // namespace ppplan::executor
