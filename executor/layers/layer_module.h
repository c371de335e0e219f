// A layer: its kind's program, compiled to slots and run forward and backward.
#pragma once

#include "executor/layers/operator_module.h"
#include "reports/documents/model.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace ppplan::executor {

/// What a layer reads: `x` is tokens [B,S] for an embedding, else [B,S,D]; `labels` [B,S] for a
/// head (undefined: the head gives logits, not the loss).
struct LayerInput {
  at::Tensor x;
  at::Tensor labels;
};

class LayerModule {
 public:
  /// What one forward keeps for its backward, by operator.
  using Saved = std::vector<Tensors>;

  /// `find` gives the layer's tensors by their names in `kind`.
  LayerModule(const LayerKind& kind, const FindTensor& find,
              const std::shared_ptr<RopeTables>& tables);

  /// The layer's output: [B,S,D], or a head's summed loss (float64 scalar). Values are let go of
  /// after their last use.
  at::Tensor forward(LayerInput input, Saved& saved);

  /// Gradient of `x` (undefined for an embedding) from that of the output.
  at::Tensor backward(at::Tensor output_gradient, Saved saved, WeightWork& weights);

 private:
  struct Step {
    std::unique_ptr<OperatorModule> module;
    std::vector<int> inputs;  ///< slots
    std::vector<int> outputs;
    std::vector<int> released;  ///< slots read here for the last time
  };

  std::vector<Step> steps_;
  int slot_count_ = 0;
  int output_slot_ = 0;
};

}  // namespace ppplan::executor
