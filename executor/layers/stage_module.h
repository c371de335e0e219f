// A run of layers on one rank, with what its micro-batches in flight keep.
#pragma once

#include "executor/layers/layer_module.h"
#include "executor/layers/parameters.h"
#include "reports/documents/model.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <vector>

namespace ppplan::executor {

/// Layers [first_layer, first_layer + layer_count) of a model; an empty stage passes tensors on.
class StageModule {
 public:
  /// Makes only its own layers' tensors, in `store`.
  StageModule(const Model& model, int first_layer, int layer_count, ParameterStore& store,
              const std::shared_ptr<RopeTables>& tables);

  /// Output of the micro-batch: an activation [B,S,D], or the summed loss where the stage ends in a
  /// head.
  at::Tensor forward(int micro_batch, LayerInput input);

  /// Gradient of the stage's input (undefined where it starts with an embedding). With kLater the
  /// weight gradients wait for `backward_weight`. Precondition: `forward` of that micro-batch ran.
  at::Tensor backward(int micro_batch, at::Tensor output_gradient, WeightWork::When when);

  void backward_weight(int micro_batch);

 private:
  struct InFlight {
    std::vector<LayerModule::Saved> layers;
    WeightWork weights;
  };

  std::vector<std::unique_ptr<LayerModule>> layers_;
  std::map<int, InFlight> in_flight_;
};

/// One layer of a model, with its tensors in `store` under their global names.
std::unique_ptr<LayerModule> make_layer(const Model& model, int layer, ParameterStore& store,
                                        const std::shared_ptr<RopeTables>& tables);

}  // namespace ppplan::executor
