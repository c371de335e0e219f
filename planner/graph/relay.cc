#include "planner/graph/relay.h"

#include <algorithm>

namespace ppplan::planner {

std::vector<RelayPoint> relay_points(const ItemGraph& graph, const Lattice& lattice) {
  std::vector<RelayPoint> points;
  Lattice::Ideal ideal = 0;
  std::size_t item = 0;
  for (const std::size_t bottleneck : bottleneck_items(graph.successors)) {
    for (; item <= bottleneck; ++item) ideal = lattice.grown(ideal, item);
    if (ideal != lattice.full()) points.push_back({ideal, bottleneck});
  }
  return points;
}

std::vector<RelayPoint> additive_relay_points(const ItemGraph& graph, const Lattice& lattice) {
  // By item: tensors that an earlier item and a later one share.
  std::vector<int> passing(graph.items.size() + 1, 0);
  for (const Tensor& tensor : graph.tensors) {
    const auto first = static_cast<std::size_t>(std::min(tensor.home, tensor.readers.front()));
    const auto last = static_cast<std::size_t>(std::max(tensor.home, tensor.readers.back()));
    ++passing[first + 1];
    --passing[last];
  }
  for (std::size_t item = 1; item < passing.size(); ++item) passing[item] += passing[item - 1];
  std::vector<RelayPoint> points = relay_points(graph, lattice);
  const auto not_additive = [&](const RelayPoint& point) { return passing[point.item] > 0; };
  points.erase(std::remove_if(points.begin(), points.end(), not_additive), points.end());
  return points;
}

Beginnings::Best Beginnings::best(double rest) const {
  // Costs rise and bottlenecks fall along the front: the best is where they meet.
  const auto meet = std::partition_point(
      front_.begin(), front_.end(),
      [&](const Beginning& beginning) { return beginning.value > beginning.cost + rest; });
  const auto at_meet = [&] { return Best{meet->cost + rest, meet->from}; };
  if (meet == front_.begin()) return at_meet();
  const Beginning& before = *(meet - 1);
  if (meet == front_.end() || before.value <= meet->cost + rest) return {before.value, before.from};
  return at_meet();
}

}  // namespace ppplan::planner
