#include "planner/chain_costs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

namespace ppplan::planner {
namespace {

std::size_t index_of(int layer) {
  return static_cast<std::size_t>(layer);
}

/// A frozen layer passes gradients on and has none of its own.
LayerCost cost_of(const CostTable& costs, const Layer& layer, int micro_batch) {
  LayerCost cost = costs.layer(layer.kind, micro_batch);
  if (!layer.frozen) return cost;
  cost.backward = cost.backward_input;
  cost.backward_weight = Seconds(0);
  cost.weight_pending = Bytes{0};
  return cost;
}

template <typename Quantity>
void append_sum(std::vector<Quantity>& sums, Quantity value) {
  sums.push_back(sums.back() + value);
}

template <typename Quantity>
Quantity between(const std::vector<Quantity>& sums, int first, int last) {
  return sums[index_of(last)] - sums[index_of(first)];
}

template <typename Quantity>
Quantity between(const std::vector<Quantity>& sums, std::span<const LayerRun> runs) {
  Quantity sum{0};
  for (const auto& [first, last] : runs) sum += between(sums, first, last);
  return sum;
}

/// How many of the runs' uses of a tensor need no copy of their own.
int spare_users(const SharedTensor& tensor, std::span<const LayerRun> runs) {
  int users = 0;
  for (const auto& [first, last] : runs) users += tensor.users(first, last);
  return std::max(0, users - 1);
}

}  // namespace

ChainCosts::ClassSums ChainCosts::sum_class(const Profile& profile, const CostTable& costs,
                                            int micro_batch) {
  std::vector<Seconds> forward{Seconds(0)}, backward{Seconds(0)}, input{Seconds(0)},
      weight{Seconds(0)}, least{Seconds(0)}, transfer{Seconds(0)};
  std::vector<Bytes> saved{Bytes{0}}, output{Bytes{0}}, pending{Bytes{0}}, own_backward_peak;
  std::vector<std::int64_t> forward_peak, backward_peak;
  for (const Layer& layer : profile.model.layers) {
    const LayerCost cost = cost_of(costs, layer, micro_batch);
    const Bytes received = saved.size() > 1 ? output.back() - output[output.size() - 2] : Bytes{0};
    forward_peak.push_back((saved.back() + received + cost.forward_peak).count);
    backward_peak.push_back((saved.back() + cost.saved + cost.output + cost.backward_peak).count);
    own_backward_peak.push_back(cost.backward_peak);
    append_sum(forward, cost.forward);
    append_sum(backward, cost.backward);
    append_sum(input, cost.backward_input);
    append_sum(weight, cost.backward_weight);
    append_sum(least, std::min(cost.backward, cost.backward_input + cost.backward_weight));
    append_sum(saved, cost.saved);
    append_sum(output, cost.output);
    append_sum(pending, cost.weight_pending);
    transfer.push_back(profile.links.empty() ? Seconds(0)
                                             : transfer_time(profile.links.front(), cost.output));
  }
  transfer.back() = Seconds(0);  // nothing follows the last layer
  const Seconds least_transfer = transfer.size() <= 2
                                     ? Seconds(0)
                                     : *std::min_element(transfer.begin() + 1, transfer.end() - 1);
  return {.forward = std::move(forward),
          .backward = std::move(backward),
          .backward_input = std::move(input),
          .backward_weight = std::move(weight),
          .least_backward = std::move(least),
          .saved = std::move(saved),
          .output = std::move(output),
          .weight_pending = std::move(pending),
          .transfer = std::move(transfer),
          .least_transfer = least_transfer,
          .forward_peak = RangeMaximum(std::move(forward_peak)),
          .backward_peak = RangeMaximum(std::move(backward_peak)),
          .own_backward_peak = std::move(own_backward_peak)};
}

ChainCosts::ChainCosts(const Profile& profile, const CostTable& costs, const BatchSplit& batch)
    : layer_count_(static_cast<int>(profile.model.layers.size())),
      parameters_{Bytes{0}},
      gradients_{Bytes{0}},
      optimizer_state_{Bytes{0}},
      optimizer_{Seconds(0)},
      shared_(shared_tensors(profile, costs)) {
  for (const int size : batch.class_size) classes_.push_back(sum_class(profile, costs, size));
  for (const Layer& layer : profile.model.layers) {
    const OptimizerCost& cost = costs.optimizer(layer.kind);
    append_sum(parameters_, cost.parameters);
    append_sum(gradients_, layer.frozen ? Bytes{0} : cost.gradients);
    append_sum(optimizer_state_, layer.frozen ? Bytes{0} : cost.optimizer_state);
    append_sum(optimizer_, layer.frozen ? Seconds(0) : cost.step.median);
  }
}

Seconds ChainCosts::forward(int first, int last, int class_index) const {
  return between(of(class_index).forward, first, last);
}

Seconds ChainCosts::backward(int first, int last, int class_index) const {
  return between(of(class_index).backward, first, last);
}

Seconds ChainCosts::least_backward(int first, int last, int class_index) const {
  return between(of(class_index).least_backward, first, last);
}

Seconds ChainCosts::backward_input(int first, int last, int class_index) const {
  return between(of(class_index).backward_input, first, last);
}

Bytes ChainCosts::boundary(int at, int class_index) const {
  if (at == 0 || at == layer_count_) return Bytes{0};
  return between(of(class_index).output, at - 1, at);
}

Seconds ChainCosts::transfer(int at, int class_index) const {
  return of(class_index).transfer[index_of(at)];
}

Seconds ChainCosts::least_transfer(int class_index) const {
  return of(class_index).least_transfer;
}

StageCost ChainCosts::stage(int first, int last, int class_index) const {
  const ClassSums& sums = of(class_index);
  StageCost cost{.forward = between(sums.forward, first, last),
                 .backward = between(sums.backward, first, last),
                 .backward_input = between(sums.backward_input, first, last),
                 .backward_weight = between(sums.backward_weight, first, last),
                 .send_activation = transfer(last, class_index),
                 .send_gradient = transfer(first, class_index),
                 .saved = between(sums.saved, first, last),
                 .forward_peak = boundary(first, class_index),
                 .backward_peak = Bytes{0},
                 .weight_pending = between(sums.weight_pending, first, last),
                 .output = boundary(last, class_index)};
  if (first == last) return cost;
  const auto from = index_of(first);
  const auto end = index_of(last);
  cost.forward_peak = Bytes{sums.forward_peak.at(from, end)} - sums.saved[from];
  cost.backward_peak = std::max(Bytes{0}, sums.own_backward_peak[end - 1]);
  if (end - from > 1) {
    const Bytes inner = Bytes{sums.backward_peak.at(from, end - 1)} - sums.saved[end];
    cost.backward_peak = std::max(cost.backward_peak, inner - cost.output);
  }
  return cost;
}

StaticMemory ChainCosts::static_memory(int first, int last) const {
  return static_memory(std::array{LayerRun{first, last}});
}

StaticMemory ChainCosts::static_memory(std::span<const LayerRun> runs) const {
  StaticMemory memory{.parameters = between(parameters_, runs),
                      .gradients = between(gradients_, runs),
                      .optimizer_state = between(optimizer_state_, runs)};
  for (const SharedTensor& tensor : shared_) {
    const int spare = spare_users(tensor, runs);
    memory.parameters -= tensor.parameters * spare;
    memory.gradients -= tensor.gradients * spare;
    memory.optimizer_state -= tensor.optimizer_state * spare;
  }
  return memory;
}

Seconds ChainCosts::optimizer(int first, int last) const {
  return optimizer(std::array{LayerRun{first, last}});
}

Seconds ChainCosts::optimizer(std::span<const LayerRun> runs) const {
  Seconds time = between(optimizer_, runs);
  for (const SharedTensor& tensor : shared_) {
    time -= tensor.optimizer * spare_users(tensor, runs);
  }
  return std::max(time, Seconds(0));
}

std::vector<Seconds> ChainCosts::reduction(const Cut& cut,
                                           const std::vector<int>& rank_of_stage) const {
  std::vector<Seconds> time(index_of(*std::ranges::max_element(rank_of_stage)) + 1, Seconds(0));
  for (const SharedTensor& tensor : shared_) {
    std::set<int> holders;
    for (std::size_t stage = 0; stage + 1 < cut.size(); ++stage) {
      if (tensor.users(cut[stage], cut[stage + 1]) > 0) holders.insert(rank_of_stage[stage]);
    }
    for (const int rank : holders) {
      time[index_of(rank)] += tensor.transfer * static_cast<double>(holders.size() - 1);
    }
  }
  return time;
}

Seconds ChainCosts::least_reduction(int first, int last) const {
  Seconds least{0};
  for (const SharedTensor& tensor : shared_) {
    const auto crosses = [&](int at) {
      return tensor.layers.front() < at && at <= tensor.layers.back();
    };
    const bool reaches_end = tensor.layers.back() == layer_count_ - 1;
    if (crosses(first) || (reaches_end && crosses(last) && last < layer_count_)) {
      least = std::max(least, tensor.transfer);
    }
  }
  return least;
}

}  // namespace ppplan::planner
