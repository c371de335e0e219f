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
LayerCost cost_of(const CostTable& costs, const Layer& layer, int micro_batch,
                  Recompute recompute) {
  LayerCost cost = costs.layer(layer.kind, micro_batch, recompute);
  if (!layer.frozen) return cost;
  cost.backward = cost.backward_input;
  cost.backward_weight = Seconds(0);
  cost.weight_pending = Bytes{0};
  return cost;
}

/// Fully sharded (Rajbhandari et al., SC 2020, section 5.3: stage 3): the layer's parameters are
/// gathered before its forward and again before its backward, its gradients scattered after it,
/// while the neighbouring layers compute; two layers' whole parameters are held meanwhile.
LayerCost fully_sharded(LayerCost cost, const OptimizerCost& kept, const Network& network,
                        const DeviceGroup& group) {
  const Seconds gather = network.collective(CollectiveKind::kAllGather, kept.parameters, group);
  const Seconds scatter = network.collective(CollectiveKind::kReduceScatter, kept.gradients, group);
  cost.forward = std::max(cost.forward, gather);
  const Seconds backward = std::max(cost.backward, gather + scatter);
  cost.backward_input += backward - cost.backward;
  cost.backward = backward;
  cost.forward_peak += kept.parameters * 2;
  cost.backward_peak += kept.parameters * 2 + kept.gradients;
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

ChainCosts::ClassSums ChainCosts::sum_class(const Model& model, const CostOfLayer& cost_of,
                                            Recompute recompute) {
  std::vector<Seconds> forward{Seconds(0)}, backward{Seconds(0)}, input{Seconds(0)},
      weight{Seconds(0)}, least{Seconds(0)};
  std::vector<Bytes> saved{Bytes{0}}, output{Bytes{0}}, pending{Bytes{0}}, own_backward_peak;
  std::vector<std::int64_t> forward_peak, backward_peak;
  for (const Layer& layer : model.layers) {
    const LayerCost cost = cost_of(layer, recompute);
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
  }
  return {.forward = std::move(forward),
          .backward = std::move(backward),
          .backward_input = std::move(input),
          .backward_weight = std::move(weight),
          .least_backward = std::move(least),
          .saved = std::move(saved),
          .output = std::move(output),
          .weight_pending = std::move(pending),
          .forward_peak = RangeMaximum(std::move(forward_peak)),
          .backward_peak = RangeMaximum(std::move(backward_peak)),
          .own_backward_peak = std::move(own_backward_peak)};
}

namespace {

/// Layers that share a tensor are like no other.
std::vector<int> number_alike(const Model& model, const std::vector<SharedTensor>& shared) {
  const auto kind_count = static_cast<int>(model.kinds.size());
  std::vector<int> alike;
  for (const Layer& layer : model.layers) {
    alike.push_back(layer.kind + (layer.frozen ? kind_count : 0));
  }
  int next = 2 * kind_count;
  for (const SharedTensor& tensor : shared) {
    for (const int layer : tensor.layers) alike[index_of(layer)] = next++;
  }
  return alike;
}

}  // namespace

ChainCosts::Sums ChainCosts::sum_all(const Profile& profile, const CostTable& costs,
                                     const std::vector<int>& class_sizes, const Network& network,
                                     const Replicas& replicas) {
  Sums sums;
  sums.layer_count = static_cast<int>(profile.model.layers.size());
  for (const int size : class_sizes) {
    const auto cost = [&](const Layer& layer, Recompute recompute) {
      const LayerCost own = cost_of(costs, layer, size, recompute);
      if (replicas.sharding != DataSharding::kParameters) return own;
      return fully_sharded(own, costs.optimizer(layer.kind), network, replicas.group);
    };
    for (std::size_t option = 0; option < kRecomputeCount; ++option) {
      sums.classes.push_back(sum_class(profile.model, cost, static_cast<Recompute>(option)));
    }
    const std::vector<Bytes>& output = sums.classes[sums.classes.size() - kRecomputeCount].output;
    Bytes least = sums.layer_count > 1 ? output[1] : Bytes{0};
    for (int at = 2; at < sums.layer_count; ++at)
      least = std::min(least, between(output, at - 1, at));
    sums.least_boundary.push_back(least);
  }
  for (std::size_t option = 0; option < kRecomputeCount; ++option) {
    for (const Layer& layer : profile.model.layers) {
      const auto backward = [&](Recompute recompute) {
        return cost_of(costs, layer, class_sizes.front(), recompute).backward;
      };
      sums.added[option].push_back(backward(static_cast<Recompute>(option)) -
                                   backward(Recompute::kNone));
    }
  }
  for (const Layer& layer : profile.model.layers) {
    const OptimizerCost& cost = costs.optimizer(layer.kind);
    append_sum(sums.parameters, cost.parameters);
    append_sum(sums.updated, layer.frozen ? Bytes{0} : cost.parameters);
    append_sum(sums.gradients, layer.frozen ? Bytes{0} : cost.gradients);
    append_sum(sums.optimizer_state, layer.frozen ? Bytes{0} : cost.optimizer_state);
    append_sum(sums.optimizer, layer.frozen ? Seconds(0) : cost.step.median);
  }
  sums.shared = shared_tensors(profile, costs, network);
  sums.alike = number_alike(profile.model, sums.shared);
  return sums;
}

ChainCosts::ChainCosts(const Profile& profile, const CostTable& costs,
                       const std::vector<int>& class_sizes, const Network& network,
                       const Replicas& replicas)
    : sums_(std::make_shared<const Sums>(sum_all(profile, costs, class_sizes, network, replicas))),
      network_(network),
      replicas_(replicas) {}

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
  if (at == 0 || at == layer_count()) return Bytes{0};
  return between(of(class_index).output, at - 1, at);
}

Seconds ChainCosts::transfer(int at, int class_index, LinkScope scope) const {
  if (at == 0 || at == layer_count()) return Seconds(0);
  return network_.hop(scope, boundary(at, class_index));
}

Seconds ChainCosts::least_transfer(int class_index, LinkScope scope) const {
  if (layer_count() < 2) return Seconds(0);
  return network_.hop(scope, sums_->least_boundary[index_of(class_index)]);
}

Seconds ChainCosts::added(int layer, Recompute recompute) const {
  return sums_->added[static_cast<std::size_t>(recompute)][index_of(layer)];
}

Bytes ChainCosts::freed(int layer, Recompute recompute) const {
  return between(of(0).saved, layer, layer + 1) - between(of(0, recompute).saved, layer, layer + 1);
}

bool ChainCosts::offers(int layer, Recompute recompute) const {
  return added(layer, recompute) != Seconds(0) || freed(layer, recompute) != Bytes{0};
}

StageCost ChainCosts::stage(int first, int last, int class_index) const {
  return stage(first, last, class_index, {});
}

ChainCosts::RunMemory ChainCosts::run_memory(const RecomputedRun& run, bool ends_stage,
                                             Bytes stage_output, int class_index) const {
  if (run.recompute == Recompute::kFull && run.segment > 1) {
    return segmented_memory(run, ends_stage, stage_output, class_index);
  }
  const ClassSums& sums = of(class_index, run.recompute);
  const auto from = index_of(run.first);
  const auto end = index_of(run.last);
  RunMemory memory{.saved = between(sums.saved, run.first, run.last),
                   .forward_peak = Bytes{sums.forward_peak.at(from, end)} - sums.saved[from],
                   .backward_peak = Bytes{0}};
  // The last layer's incoming gradient is the stage's; the others' come on top of it.
  if (ends_stage) memory.backward_peak = sums.own_backward_peak[end - 1];
  if (const std::size_t inner = ends_stage ? end - 1 : end; inner > from) {
    const Bytes peak = Bytes{sums.backward_peak.at(from, inner)} - sums.saved[end] - stage_output;
    memory.backward_peak = std::max(memory.backward_peak, peak);
  }
  return memory;
}

/// Segments of several layers (Chen et al. 2016, section 4): of each only the first layer's input
/// is kept; its backward computes the segment's forward again, keeping everything, and then goes
/// back through it.
ChainCosts::RunMemory ChainCosts::segmented_memory(const RecomputedRun& run, bool ends_stage,
                                                   Bytes stage_output, int class_index) const {
  const ClassSums& full = of(class_index, Recompute::kFull);
  RunMemory memory;
  for (int from = run.first; from < run.last; from += run.segment) {
    const int end = std::min(run.last, from + run.segment);
    const Bytes input = between(full.saved, from, from + 1);
    for (int layer = from; layer < end; ++layer) {
      const Bytes own = Bytes{full.forward_peak.at(index_of(layer), index_of(layer) + 1)} -
                        full.saved[index_of(layer)];
      const Bytes held = memory.saved + (layer > from ? input : Bytes{0});
      memory.forward_peak = std::max(memory.forward_peak, held + own);
    }
    memory.saved += input;
    const StageCost again = stage(from, end, class_index);
    Bytes peak = std::max(again.forward_peak, again.saved + again.backward_peak) - input;
    if (!(ends_stage && end == run.last)) peak += between(full.output, end - 1, end) - stage_output;
    memory.backward_peak = std::max(memory.backward_peak - input, peak);
  }
  return memory;
}

StageCost ChainCosts::stage(int first, int last, int class_index,
                            const RecomputeChoice& choice) const {
  StageCost cost{.send_activation = transfer(last, class_index, LinkScope::kInside),
                 .send_gradient = transfer(first, class_index, LinkScope::kInside),
                 .forward_peak = boundary(first, class_index),
                 .backward_peak = Bytes{0},
                 .output = boundary(last, class_index)};
  const RecomputedRun whole{first, last, Recompute::kNone};
  const std::span<const RecomputedRun> runs =
      choice.empty() ? std::span(&whole, 1) : std::span<const RecomputedRun>(choice);
  for (const RecomputedRun& run : runs) {
    if (run.first == run.last) continue;
    const ClassSums& sums = of(class_index, run.recompute);
    cost.forward += between(sums.forward, run.first, run.last);
    cost.backward += between(sums.backward, run.first, run.last);
    cost.backward_input += between(sums.backward_input, run.first, run.last);
    cost.backward_weight += between(sums.backward_weight, run.first, run.last);
    cost.weight_pending += between(sums.weight_pending, run.first, run.last);
    const RunMemory memory = run_memory(run, run.last == last, cost.output, class_index);
    cost.forward_peak = std::max(cost.forward_peak, cost.saved + memory.forward_peak);
    cost.saved += memory.saved;
    // What this run saved is given back by the time that an earlier one goes back.
    cost.backward_peak = std::max(cost.backward_peak - memory.saved, memory.backward_peak);
  }
  cost.backward_peak = std::max(cost.backward_peak, Bytes{0});
  return cost;
}

StaticMemory ChainCosts::static_memory(int first, int last) const {
  return static_memory(std::array{LayerRun{first, last}});
}

StaticMemory ChainCosts::static_memory(std::span<const LayerRun> runs) const {
  StaticMemory memory{.parameters = between(sums_->parameters, runs),
                      .gradients = between(sums_->gradients, runs),
                      .optimizer_state = between(sums_->optimizer_state, runs),
                      .updated = between(sums_->updated, runs)};
  for (const SharedTensor& tensor : sums_->shared) {
    const int spare = spare_users(tensor, runs);
    memory.parameters -= tensor.parameters * spare;
    memory.gradients -= tensor.gradients * spare;
    memory.optimizer_state -= tensor.optimizer_state * spare;
    if (tensor.gradients.count > 0) memory.updated -= tensor.parameters * spare;
  }
  const std::int64_t devices = replicas_.group.devices;
  const auto divide = [&](Bytes& bytes) { bytes.count = (bytes.count + devices - 1) / devices; };
  if (replicas_.sharding != DataSharding::kNone) divide(memory.optimizer_state);
  if (replicas_.sharding == DataSharding::kParameters) {
    divide(memory.parameters);
    divide(memory.gradients);
  }
  return memory;
}

Seconds ChainCosts::optimizer(int first, int last) const {
  return optimizer(std::array{LayerRun{first, last}});
}

Seconds ChainCosts::optimizer(std::span<const LayerRun> runs) const {
  Seconds time = between(sums_->optimizer, runs);
  for (const SharedTensor& tensor : sums_->shared) {
    time -= tensor.optimizer * spare_users(tensor, runs);
  }
  if (replicas_.sharding != DataSharding::kNone) time /= replicas_.group.devices;
  return std::max(time, Seconds(0));
}

std::vector<Seconds> ChainCosts::reduction(const Cut& cut,
                                           const std::vector<int>& rank_of_stage) const {
  std::vector<Seconds> time(index_of(*std::ranges::max_element(rank_of_stage)) + 1, Seconds(0));
  for (const SharedTensor& tensor : sums_->shared) {
    std::set<int> holders;
    for (std::size_t stage = 0; stage + 1 < cut.size(); ++stage) {
      if (tensor.users(cut[stage], cut[stage + 1]) > 0) holders.insert(rank_of_stage[stage]);
    }
    const bool between = std::ranges::any_of(holders, [&](int rank) {
      return replicas_.geometry.hop(*holders.begin(), rank) == LinkScope::kBetween;
    });
    const Seconds transfer = between ? tensor.transfer_between : tensor.transfer;
    for (const int rank : holders) {
      time[index_of(rank)] += transfer * static_cast<double>(holders.size() - 1);
    }
  }
  if (replicas_.group.devices < 2) return time;
  std::vector<std::vector<LayerRun>> runs(time.size());
  for (std::size_t stage = 0; stage + 1 < cut.size(); ++stage) {
    runs[index_of(rank_of_stage[stage])].push_back({cut[stage], cut[stage + 1]});
  }
  for (std::size_t rank = 0; rank < time.size(); ++rank) {
    time[rank] += replica_reduction(static_memory(runs[rank]));
  }
  return time;
}

Seconds ChainCosts::replica_reduction(const StaticMemory& kept) const {
  const DeviceGroup& group = replicas_.group;
  const bool as_it_goes = replicas_.sharding == DataSharding::kParameters;
  if (group.devices < 2 || kept.gradients.count == 0 || as_it_goes) return Seconds(0);
  if (replicas_.sharding == DataSharding::kNone) {
    return network_.collective(CollectiveKind::kAllReduce, kept.gradients, group);
  }
  return network_.collective(CollectiveKind::kReduceScatter, kept.gradients, group) +
         network_.collective(CollectiveKind::kAllGather, kept.updated, group);
}

Seconds ChainCosts::least_reduction(int first, int last) const {
  Seconds of_holders{0};  // among which this stage need not be
  Seconds own{0};
  for (const SharedTensor& tensor : sums_->shared) {
    const auto crosses = [&](int at) {
      return tensor.layers.front() < at && at <= tensor.layers.back();
    };
    const bool reaches_end = tensor.layers.back() == layer_count() - 1;
    if (crosses(first) || (reaches_end && crosses(last) && last < layer_count())) {
      const Seconds transfer = std::min(tensor.transfer, tensor.transfer_between);
      of_holders = std::max(of_holders, transfer);
      if (tensor.users(first, last) > 0) own += transfer;
    }
  }
  if (replicas_.group.devices > 1) own += replica_reduction(static_memory(first, last));
  return std::max(of_holders, own);
}

}  // namespace ppplan::planner
