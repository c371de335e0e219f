#include "planner/graph/linear_order.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace ppplan::planner {
namespace {

constexpr std::size_t kMostForGreedy = 4'000;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

Successors reversed(const Successors& successors) {
  Successors predecessors(successors.size());
  for (std::size_t item = 0; item < successors.size(); ++item) {
    for (const int next : successors[item])
      predecessors[at(next)].push_back(static_cast<int>(item));
  }
  return predecessors;
}

/// Kahn's algorithm; `take` removes and returns one of the items that may come next.
template <typename Take>
std::vector<int> sorted(const Successors& successors, const Take& take) {
  std::vector<int> missing(successors.size(), 0);
  for (const std::vector<int>& next : successors) {
    for (const int item : next) ++missing[at(item)];
  }
  std::deque<int> ready;
  for (std::size_t item = 0; item < successors.size(); ++item) {
    if (missing[item] == 0) ready.push_back(static_cast<int>(item));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int item = take(ready);
    order.push_back(item);
    for (const int next : successors[at(item)]) {
      if (--missing[at(next)] == 0) ready.push_back(next);
    }
  }
  return order;
}

int take_newest(std::deque<int>& ready) {
  const int item = ready.back();
  ready.pop_back();
  return item;
}

int take_oldest(std::deque<int>& ready) {
  const int item = ready.front();
  ready.pop_front();
  return item;
}

/// Takes the item after which the tensors that wait for a reader cost least.
class TakeLightest {
 public:
  explicit TakeLightest(const ItemGraph& graph)
      : graph_(graph), unread_(graph.tensors.size()), made_(graph.items.size()), read_(made_) {
    for (std::size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
      const Tensor& shared = graph.tensors[tensor];
      unread_[tensor] = shared.readers.size();
      made_[at(shared.home)].push_back(tensor);
      for (const int reader : shared.readers) read_[at(reader)].push_back(tensor);
    }
  }

  int operator()(std::deque<int>& ready) {
    const auto lightest = std::min_element(ready.begin(), ready.end(), [&](int a, int b) {
      return std::pair(added(a), a) < std::pair(added(b), b);
    });
    const int item = *lightest;
    ready.erase(lightest);
    for (const std::size_t tensor : read_[at(item)]) --unread_[tensor];
    return item;
  }

 private:
  [[nodiscard]] double added(int item) const {
    double cost = 0.0;
    for (const std::size_t tensor : made_[at(item)]) cost += graph_.tensors[tensor].cost;
    for (const std::size_t tensor : read_[at(item)]) {
      if (unread_[tensor] == 1) cost -= graph_.tensors[tensor].cost;
    }
    return cost;
  }

  const ItemGraph& graph_;
  std::vector<std::size_t> unread_;             ///< by tensor
  std::vector<std::vector<std::size_t>> made_;  ///< by item
  std::vector<std::vector<std::size_t>> read_;
};

/// By position p: what tensors cost that are shared between the items before p and those from p on.
std::vector<double> costs_across(const ItemGraph& graph, const std::vector<int>& place) {
  std::vector<double> across(place.size() + 1, 0.0);
  for (const Tensor& tensor : graph.tensors) {
    int first = place[at(tensor.home)];
    int last = first;
    for (const int reader : tensor.readers) {
      first = std::min(first, place[at(reader)]);
      last = std::max(last, place[at(reader)]);
    }
    across[at(first) + 1] += tensor.cost;
    across[at(last) + 1] -= tensor.cost;
  }
  for (std::size_t position = 1; position < across.size(); ++position) {
    across[position] += across[position - 1];
  }
  return across;
}

/// By place in the order: the group it is in.
std::vector<int> stretches(const std::vector<double>& across, std::size_t most) {
  const std::size_t item_count = across.size() - 1;
  const std::size_t count = std::min(most, item_count);
  std::vector<bool> starts(item_count, false);
  for (std::size_t stretch = 1; stretch < count; ++stretch) {
    const auto first = across.begin() + static_cast<std::ptrdiff_t>(stretch * item_count / count);
    const auto last =
        across.begin() + static_cast<std::ptrdiff_t>((stretch + 1) * item_count / count);
    starts[static_cast<std::size_t>(std::min_element(first, last) - across.begin())] = true;
  }
  std::vector<int> group;
  for (std::size_t place = 0; place < item_count; ++place) {
    group.push_back(place == 0 ? 0 : group.back() + (starts[place] ? 1 : 0));
  }
  return group;
}

}  // namespace

std::vector<std::vector<int>> topological_orders(const ItemGraph& graph) {
  std::vector<std::vector<int>> orders;
  orders.push_back(sorted(graph.successors, take_newest));
  orders.push_back(sorted(graph.successors, take_oldest));
  orders.push_back(sorted(reversed(graph.successors), take_newest));
  std::reverse(orders.back().begin(), orders.back().end());
  if (graph.items.size() <= kMostForGreedy) {
    TakeLightest lightest(graph);
    orders.push_back(
        sorted(graph.successors, [&](std::deque<int>& ready) { return lightest(ready); }));
  }
  return orders;
}

ItemGraph linearized(const ItemGraph& graph, const std::vector<int>& order,
                     std::size_t most_positions) {
  std::vector<int> place(order.size(), 0);
  for (std::size_t here = 0; here < order.size(); ++here) {
    place[at(order[here])] = static_cast<int>(here);
  }
  const std::vector<int> group_of_place = stretches(costs_across(graph, place), most_positions);
  std::vector<int> group_of_item;
  for (const int here : place) group_of_item.push_back(group_of_place[at(here)]);
  ItemGraph chain = graph;
  for (std::vector<int>& next : chain.successors) next.clear();
  for (std::size_t here = 0; here + 1 < order.size(); ++here) {
    chain.successors[at(order[here])] = {order[here + 1]};
  }
  return contract(chain, group_of_item, group_of_place.back() + 1);
}

}  // namespace ppplan::planner
