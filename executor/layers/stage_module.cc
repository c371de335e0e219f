#include "executor/layers/stage_module.h"

#include <ATen/ATen.h>

#include <utility>

namespace ppplan::executor {

std::unique_ptr<LayerModule> make_layer(const Model& model, int layer, ParameterStore& store,
                                        const std::shared_ptr<RopeTables>& tables) {
  const Layer& description = model.layers[static_cast<std::size_t>(layer)];
  const LayerKind& kind = model.kinds[static_cast<std::size_t>(description.kind)];
  const std::vector<std::string> names = parameter_names(model, layer);
  const FindTensor find = [&](const std::string& local) {
    std::size_t place = 0;
    while (kind.parameters[place].name != local) ++place;  // the reader checked that it is there
    return store.get(names[place], kind.parameters[place], description.frozen);
  };
  return std::make_unique<LayerModule>(kind, find, tables);
}

StageModule::StageModule(const Model& model, int first_layer, int layer_count,
                         ParameterStore& store, const std::shared_ptr<RopeTables>& tables) {
  for (int layer = first_layer; layer < first_layer + layer_count; ++layer) {
    layers_.push_back(make_layer(model, layer, store, tables));
  }
}

at::Tensor StageModule::forward(int micro_batch, LayerInput input) {
  InFlight& flight = in_flight_[micro_batch];
  flight.layers.resize(layers_.size());
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    LayerInput own{std::move(input.x), layer + 1 == layers_.size() ? input.labels : at::Tensor()};
    input.x = layers_[layer]->forward(std::move(own), flight.layers[layer]);
  }
  return std::move(input.x);
}

at::Tensor StageModule::backward(int micro_batch, at::Tensor output_gradient,
                                 WeightWork::When when) {
  InFlight& flight = in_flight_.at(micro_batch);
  flight.weights = WeightWork(when);
  for (std::size_t layer = layers_.size(); layer-- > 0;) {
    output_gradient = layers_[layer]->backward(std::move(output_gradient),
                                               std::move(flight.layers[layer]), flight.weights);
  }
  if (when == WeightWork::When::kNow) in_flight_.erase(micro_batch);
  return output_gradient;
}

void StageModule::backward_weight(int micro_batch) {
  in_flight_.at(micro_batch).weights.finish();
  in_flight_.erase(micro_batch);
}

}  // namespace ppplan::executor
