#include "planner/graph/idle_items.h"

#include <cstddef>
#include <set>
#include <vector>

namespace ppplan::planner {
namespace {

class IdleLeaves {
 public:
  IdleLeaves(const ItemGraph& graph, bool memory_may_bind)
      : graph_(graph),
        memory_may_bind_(memory_may_bind),
        neighbours_(graph.items.size()),
        joined_to_(graph.items.size(), -1) {
    for (std::size_t item = 0; item < graph.items.size(); ++item) {
      for (const int next : graph.successors[item]) connect(static_cast<int>(item), next);
    }
    for (const Tensor& tensor : graph.tensors) {
      for (const int reader : tensor.readers) connect(tensor.home, reader);
    }
  }

  ItemGraph join() {
    for (int item = 0; item < static_cast<int>(graph_.items.size()); ++item) join_from(item);
    std::vector<int> group(graph_.items.size(), -1);
    int group_count = 0;
    for (std::size_t item = 0; item < group.size(); ++item) {
      if (joined_to_[item] < 0) group[item] = group_count++;
    }
    for (int item = 0; item < static_cast<int>(group.size()); ++item)
      group[at(item)] = group[at(root(item))];
    return contract(graph_, group, group_count);
  }

 private:
  static std::size_t at(int item) { return static_cast<std::size_t>(item); }

  void connect(int a, int b) {
    neighbours_[at(a)].insert(b);
    neighbours_[at(b)].insert(a);
  }

  [[nodiscard]] bool idle_beside(int item, int neighbour) const {
    const Item& leaf = graph_.items[at(item)];
    const Item& other = graph_.items[at(neighbour)];
    return leaf.time == 0.0 && leaf.cpu_time == 0.0 && leaf.parameters == 0.0 &&
           (leaf.bytes == 0.0 || !memory_may_bind_) && (leaf.accelerator || !other.accelerator) &&
           (leaf.cpu || !other.cpu);
  }

  /// Joins the item, and then what its leaving turned into a leaf.
  void join_from(int item) {
    while (neighbours_[at(item)].size() == 1) {
      const int neighbour = *neighbours_[at(item)].begin();
      if (!idle_beside(item, neighbour)) return;
      joined_to_[at(item)] = neighbour;
      neighbours_[at(item)].clear();
      neighbours_[at(neighbour)].erase(item);
      item = neighbour;
    }
  }

  /// The item that is left; shortens the way to it.
  int root(int item) {
    int top = item;
    while (joined_to_[at(top)] >= 0) top = joined_to_[at(top)];
    while (joined_to_[at(item)] >= 0) {
      const int next = joined_to_[at(item)];
      joined_to_[at(item)] = top;
      item = next;
    }
    return top;
  }

  const ItemGraph& graph_;
  bool memory_may_bind_;
  std::vector<std::set<int>> neighbours_;
  std::vector<int> joined_to_;
};

}  // namespace

ItemGraph without_idle_leaves(const ItemGraph& graph, bool memory_may_bind) {
  return IdleLeaves(graph, memory_may_bind).join();
}

}  // namespace ppplan::planner
