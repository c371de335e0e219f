// y = x W^T + b; dx = dy W; dW += dy^T x, added in place by the matrix product itself.
#include "executor/layers/operator_module.h"

#include <ATen/ATen.h>

namespace ppplan::executor {
namespace {

class Linear final : public OperatorModule {
 public:
  Linear(const LinearOp& op, const FindTensor& find)
      : op_(op), weight_(find(op.weight)), bias_(op.bias ? find(*op.bias) : nullptr) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const at::Tensor& x = inputs[0];
    const at::Tensor rows = x.reshape({-1, op_.in_features});  // [B*S, in]
    saved.push_back(rows);
    const at::Tensor weight = in_by_out(weight_->value);
    const at::Tensor y = bias_ ? at::addmm(bias_->value, rows, weight) : at::mm(rows, weight);
    std::vector<std::int64_t> shape = x.sizes().vec();
    shape.back() = op_.out_features;
    return {y.view(shape)};
  }

  Tensors backward(const Tensors& output_gradients, Tensors saved, WeightWork& weights) override {
    const at::Tensor dy = output_gradients[0].reshape({-1, op_.out_features});
    std::vector<std::int64_t> shape = output_gradients[0].sizes().vec();
    shape.back() = op_.in_features;
    at::Tensor dx = at::mm(dy, in_by_out(weight_->value).t()).view(shape);
    if (weight_->gradient.defined()) {
      weights.add([this, dy, rows = std::move(saved[0])] {
        in_by_out(weight_->gradient).addmm_(rows.t(), dy);
        if (bias_) bias_->gradient.add_(dy.sum(0));
      });
    }
    return {std::move(dx)};
  }

 private:
  /// A [in, out] view of a weight or its gradient.
  [[nodiscard]] at::Tensor in_by_out(const at::Tensor& stored) const {
    return op_.layout == WeightLayout::kOutIn ? stored.t() : stored;
  }

  LinearOp op_;
  std::shared_ptr<TrainedTensor> weight_;
  std::shared_ptr<TrainedTensor> bias_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_linear(const LinearOp& op, const FindTensor& find) {
  return std::make_unique<Linear>(op, find);
}

}  // namespace ppplan::executor
