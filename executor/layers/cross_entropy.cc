// Output projection and cross-entropy in one: the logits' memory becomes their gradient's.
#include "executor/layers/operator_module.h"

#include <ATen/ATen.h>

namespace ppplan::executor {
namespace {

/// T = B*S tokens. loss = sum over labelled tokens of lse(l) - l[label] with l = x W^T;
/// dl = (softmax(l) - onehot(label)) * dloss; dx = dl W; dW += dl^T x.
class LinearCrossEntropy final : public OperatorModule {
 public:
  LinearCrossEntropy(const LinearCrossEntropyOp& op, const FindTensor& find)
      : op_(op), weight_(find(op.weight)) {}

  /// Inputs x [B,S,D] and labels [B,S]; undefined labels ask for the logits [B,S,V] instead.
  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const at::Tensor& x = inputs[0];
    const at::Tensor rows = x.reshape({-1, op_.in_features});
    at::Tensor logits = at::mm(rows, weight_->value.t());  // [T,V]
    if (!inputs[1].defined()) return {logits.view({x.size(0), x.size(1), op_.vocabulary})};

    const at::Tensor labels = inputs[1].reshape({-1, 1});
    const at::Tensor labelled = labels.ge(0);
    const at::Tensor targets = labels.clamp_min(0);
    const at::Tensor target_logits = logits.gather(1, targets);
    const at::Tensor largest = logits.amax(1, /*keepdim=*/true);
    at::_softmax_out(logits, logits, 1, /*half_to_float=*/false);
    // At the largest logit softmax is 1 / sum(exp(l - largest)): lse without another [T,V] tensor.
    const at::Tensor lse = largest - logits.amax(1, /*keepdim=*/true).log_();
    at::Tensor loss = (lse - target_logits).mul_(labelled).sum(at::kDouble);
    logits.scatter_add_(1, targets, at::full_like(target_logits, -1.0));
    if (!labelled.all().item<bool>()) logits.mul_(labelled);
    saved = {x, logits};
    return {std::move(loss)};
  }

  Tensors backward(const Tensors& output_gradients, Tensors saved, WeightWork& weights) override {
    const double d_loss = output_gradients[0].item<double>();
    const at::Tensor x = std::move(saved[0]);
    const at::Tensor d_logits = std::move(saved[1]);
    at::Tensor dx = at::mm(d_logits, weight_->value).mul_(d_loss).view(x.sizes());
    if (weight_->gradient.defined()) {
      weights.add([this, x, d_logits, d_loss] {
        const at::Tensor rows = x.reshape({-1, op_.in_features});
        weight_->gradient.addmm_(d_logits.t(), rows, /*beta=*/1, /*alpha=*/d_loss);
      });
    }
    return {std::move(dx), at::Tensor()};
  }

 private:
  LinearCrossEntropyOp op_;
  std::shared_ptr<TrainedTensor> weight_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_linear_cross_entropy(const LinearCrossEntropyOp& op,
                                                          const FindTensor& find) {
  return std::make_unique<LinearCrossEntropy>(op, find);
}

}  // namespace ppplan::executor
