// Root-mean-square and layer norm (Zhang & Sennrich, NeurIPS 2019; Ba et al., 2016).
#include "executor/layers/operator_module.h"

#include <ATen/ATen.h>

#include <array>

namespace ppplan::executor {
namespace {

/// y = w u with u = x r, r = 1 / sqrt(mean(x^2) + eps) over groups of `width` features;
/// dx = r (g - u mean(g u)) with g = dy w; dw += sum over groups of dy u.
class RmsNorm final : public OperatorModule {
 public:
  RmsNorm(const RmsNormOp& op, const FindTensor& find) : op_(op), weight_(find(op.weight)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const at::Tensor& x = inputs[0];
    const at::Tensor groups = x.reshape({-1, op_.width});
    at::Tensor r = at::linalg_vector_norm(groups, 2, at::IntArrayRef{-1}, /*keepdim=*/true);
    r.square_().div_(static_cast<double>(op_.width)).add_(op_.epsilon).rsqrt_();
    saved.push_back(groups);
    saved.push_back(r);
    return {at::mul(groups, r).mul_(weight_->value).view(x.sizes())};
  }

  Tensors backward(const Tensors& output_gradients, Tensors saved, WeightWork& weights) override {
    const at::Tensor dy = output_gradients[0].reshape({-1, op_.width});
    const at::Tensor r = saved[1];
    const at::Tensor u = at::mul(saved[0], r);
    saved.clear();
    at::Tensor dx = at::mul(dy, weight_->value);
    const at::Tensor mean = at::mul(dx, u).mean(-1, /*keepdim=*/true);
    dx.addcmul_(u, mean, -1).mul_(r);
    if (weight_->gradient.defined()) {
      weights.add([this, dy, u] { weight_->gradient.add_(at::mul(dy, u).sum(0)); });
    }
    return {dx.view(output_gradients[0].sizes())};
  }

 private:
  RmsNormOp op_;
  std::shared_ptr<TrainedTensor> weight_;
};

class LayerNorm final : public OperatorModule {
 public:
  LayerNorm(const LayerNormOp& op, const FindTensor& find)
      : op_(op), weight_(find(op.weight)), bias_(find(op.bias)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    auto [y, mean, r] = at::native_layer_norm(inputs[0], at::IntArrayRef{op_.width}, weight_->value,
                                              bias_->value, op_.epsilon);
    saved = {inputs[0], mean, r};
    return {std::move(y)};
  }

  Tensors backward(const Tensors& output_gradients, Tensors saved, WeightWork& weights) override {
    const at::Tensor& dy = output_gradients[0];
    at::Tensor dx = differentiate(dy, saved, {true, false, false})[0];
    if (weight_->gradient.defined()) {
      weights.add([this, dy, saved = std::move(saved)] {
        const Tensors parts = differentiate(dy, saved, {false, true, true});
        weight_->gradient.add_(parts[1]);
        bias_->gradient.add_(parts[2]);
      });
    }
    return {std::move(dx)};
  }

 private:
  [[nodiscard]] Tensors differentiate(const at::Tensor& dy, const Tensors& saved,
                                      std::array<bool, 3> wanted) const {
    auto [dx, dw, db] =
        at::native_layer_norm_backward(dy, saved[0], at::IntArrayRef{op_.width}, saved[1], saved[2],
                                       weight_->value, bias_->value, wanted);
    return {dx, dw, db};
  }

  LayerNormOp op_;
  std::shared_ptr<TrainedTensor> weight_;
  std::shared_ptr<TrainedTensor> bias_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_rms_norm(const RmsNormOp& op, const FindTensor& find) {
  return std::make_unique<RmsNorm>(op, find);
}

std::unique_ptr<OperatorModule> make_layer_norm(const LayerNormOp& op, const FindTensor& find) {
  return std::make_unique<LayerNorm>(op, find);
}

}  // namespace ppplan::executor
