// Token and learned position embeddings.
#include "executor/layers/operator_module.h"

#include <ATen/ATen.h>

namespace ppplan::executor {
namespace {

/// tokens [B,S] -> [B,S,D]
class Embedding final : public OperatorModule {
 public:
  Embedding(const EmbeddingOp& op, const FindTensor& find) : weight_(find(op.weight)) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    saved.push_back(inputs[0]);
    return {at::embedding(weight_->value, inputs[0])};
  }

  Tensors backward(const Tensors& output_gradients, Tensors saved, WeightWork& weights) override {
    if (weight_->gradient.defined()) {
      // Adds row by row: embedding_dense_backward would make a whole [V,D] gradient for every call.
      weights.add([this, dy = output_gradients[0], tokens = std::move(saved[0])] {
        weight_->gradient.index_add_(0, tokens.flatten(), dy.reshape({-1, dy.size(-1)}));
      });
    }
    return {at::Tensor()};
  }

 private:
  std::shared_ptr<TrainedTensor> weight_;
};

/// x [B,S,D] -> x + weight[0..S)
class PositionEmbedding final : public OperatorModule {
 public:
  PositionEmbedding(const PositionEmbeddingOp& op, const FindTensor& find)
      : weight_(find(op.weight)) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    return {at::add(inputs[0], weight_->value.narrow(0, 0, inputs[0].size(1)))};
  }

  Tensors backward(const Tensors& output_gradients, Tensors /*saved*/,
                   WeightWork& weights) override {
    const at::Tensor& dy = output_gradients[0];
    if (weight_->gradient.defined()) {
      weights.add([this, dy] { weight_->gradient.narrow(0, 0, dy.size(1)).add_(dy.sum(0)); });
    }
    return {dy};
  }

 private:
  std::shared_ptr<TrainedTensor> weight_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_embedding(const EmbeddingOp& op, const FindTensor& find) {
  return std::make_unique<Embedding>(op, find);
}

std::unique_ptr<OperatorModule> make_position_embedding(const PositionEmbeddingOp& op,
                                                        const FindTensor& find) {
  return std::make_unique<PositionEmbedding>(op, find);
}

}  // namespace ppplan::executor
