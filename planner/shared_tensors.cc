#include "planner/shared_tensors.h"

#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace ppplan::planner {
namespace {

/// Where a stored tensor stands.
struct Place {
  int layer = 0;
  const Parameter* parameter = nullptr;
};

const LayerKind& kind_of(const Model& model, const Layer& layer) {
  return model.kinds[static_cast<std::size_t>(layer.kind)];
}

/// The layer whose own tensor has this global name.
Place find_owner(const Model& model, std::string_view name) {
  for (std::size_t index = 0; index < model.layers.size(); ++index) {
    const Layer& layer = model.layers[index];
    if (!name.starts_with(layer.prefix)) continue;
    const std::string_view relative = name.substr(layer.prefix.size());
    if (std::ranges::find(layer.tied, relative, &TiedParameter::name) != layer.tied.end()) continue;
    for (const Parameter& parameter : kind_of(model, layer).parameters) {
      if (parameter.name == relative) return {static_cast<int>(index), &parameter};
    }
  }
  throw Error(Failure::kBadInput, fmt::format("no layer owns the shared parameter '{}'", name),
              "inspect the model again: its tied parameters name tensors that are not there");
}

double element_count(const Parameter& parameter) {
  double elements = 1.0;
  for (const std::int64_t extent : parameter.shape) elements *= static_cast<double>(extent);
  return elements;
}

Bytes part_of(Bytes whole, double part) {
  return {std::llround(static_cast<double>(whole.count) * part)};
}

}  // namespace

int SharedTensor::users(int first, int last) const {
  return static_cast<int>(std::ranges::lower_bound(layers, last) -
                          std::ranges::lower_bound(layers, first));
}

std::vector<SharedTensor> shared_tensors(const Profile& profile, const CostTable& costs,
                                         const Network& network) {
  const Model& model = profile.model;
  std::map<std::string, std::vector<int>> users;  // by the owner's name, so that order is fixed
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    for (const TiedParameter& tied : model.layers[layer].tied) {
      users[tied.owner].push_back(static_cast<int>(layer));
    }
  }
  std::vector<SharedTensor> tensors;
  for (auto& [name, layers] : users) {
    const Place owner = find_owner(model, name);
    layers.push_back(owner.layer);
    std::ranges::sort(layers);
    layers.erase(std::ranges::unique(layers).begin(), layers.end());
    if (layers.size() < 2) continue;
    const Layer& layer = model.layers[static_cast<std::size_t>(owner.layer)];
    double kind_elements = 0.0;
    for (const Parameter& parameter : kind_of(model, layer).parameters) {
      kind_elements += element_count(parameter);
    }
    const double part = kind_elements > 0.0 ? element_count(*owner.parameter) / kind_elements : 0.0;
    const OptimizerCost& whole = costs.optimizer(layer.kind);
    SharedTensor tensor;
    tensor.layers = layers;
    tensor.parameters = part_of(whole.parameters, part);
    if (!layer.frozen) {
      tensor.gradients = part_of(whole.gradients, part);
      tensor.optimizer_state = part_of(whole.optimizer_state, part);
      tensor.optimizer = whole.step.median * part;
      tensor.transfer = network.exchange(tensor.gradients);
      tensor.transfer_between = network.has_nodes()
                                    ? network.hop(LinkScope::kBetween, tensor.gradients)
                                    : tensor.transfer;
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace ppplan::planner
