// Activations, gates, residual additions and splits.
#include "executor/layers/operator_module.h"

#include <ATen/ATen.h>

namespace ppplan::executor {
namespace {

at::Tensor apply(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kGelu:
      return at::gelu(x, "none");
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
  }
  return {};
}

at::Tensor differentiate(Activation activation, const at::Tensor& dy, const at::Tensor& x) {
  switch (activation) {
    case Activation::kSilu:
      return at::silu_backward(dy, x);
    case Activation::kGelu:
      return at::gelu_backward(dy, x, "none");
    case Activation::kGeluTanh:
      return at::gelu_backward(dy, x, "tanh");
    case Activation::kRelu:
      return at::threshold_backward(dy, x, 0);
  }
  return {};
}

class ActivationModule final : public OperatorModule {
 public:
  explicit ActivationModule(Activation activation) : activation_(activation) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    saved.push_back(inputs[0]);
    return {apply(activation_, inputs[0])};
  }

  Tensors backward(const Tensors& output_gradients, Tensors saved,
                   WeightWork& /*weights*/) override {
    return {differentiate(activation_, output_gradients[0], saved[0])};
  }

 private:
  Activation activation_;
};

/// activation(gate) * up; activation(gate) is computed again in backward rather than kept.
class GatedActivation final : public OperatorModule {
 public:
  explicit GatedActivation(Activation activation) : activation_(activation) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    saved = {inputs[0], inputs[1]};
    return {apply(activation_, inputs[0]).mul_(inputs[1])};
  }

  Tensors backward(const Tensors& output_gradients, Tensors saved,
                   WeightWork& /*weights*/) override {
    const at::Tensor& dy = output_gradients[0];
    at::Tensor d_up = apply(activation_, saved[0]).mul_(dy);
    at::Tensor d_gate = differentiate(activation_, at::mul(dy, saved[1]), saved[0]);
    return {std::move(d_gate), std::move(d_up)};
  }

 private:
  Activation activation_;
};

class Add final : public OperatorModule {
 public:
  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    return {at::add(inputs[0], inputs[1])};
  }

  Tensors backward(const Tensors& output_gradients, Tensors /*saved*/,
                   WeightWork& /*weights*/) override {
    return {output_gradients[0], output_gradients[0]};
  }
};

class Split final : public OperatorModule {
 public:
  explicit Split(const SplitOp& op) : widths_(op.widths) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    return at::split_with_sizes(inputs[0], widths_, -1);
  }

  Tensors backward(const Tensors& output_gradients, Tensors /*saved*/,
                   WeightWork& /*weights*/) override {
    return {at::cat(output_gradients, -1)};
  }

 private:
  std::vector<std::int64_t> widths_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_activation(const ActivationOp& op) {
  return std::make_unique<ActivationModule>(op.activation);
}

std::unique_ptr<OperatorModule> make_gated_activation(const GatedActivationOp& op) {
  return std::make_unique<GatedActivation>(op.activation);
}

std::unique_ptr<OperatorModule> make_add() {
  return std::make_unique<Add>();
}

std::unique_ptr<OperatorModule> make_split(const SplitOp& op) {
  return std::make_unique<Split>(op);
}

}  // namespace ppplan::executor
