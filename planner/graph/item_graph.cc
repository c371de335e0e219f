#include "planner/graph/item_graph.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ppplan::planner {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

void sort_unique(std::vector<int>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// By group: its place in a topological order; ties go to the smaller group number.
std::vector<int> topological_places(const Successors& successors) {
  std::vector<int> missing(successors.size(), 0);
  for (const std::vector<int>& next : successors) {
    for (const int group : next) ++missing[at(group)];
  }
  std::vector<int> ready;  // a stack: goes deep first, which keeps few tensors alive
  for (int group = static_cast<int>(successors.size()); group-- > 0;) {
    if (missing[at(group)] == 0) ready.push_back(group);
  }
  std::vector<int> places(successors.size(), 0);
  for (int place = 0; !ready.empty(); ++place) {
    const int group = ready.back();
    ready.pop_back();
    places[at(group)] = place;
    for (auto next = successors[at(group)].rbegin(); next != successors[at(group)].rend(); ++next) {
      if (--missing[at(*next)] == 0) ready.push_back(*next);
    }
  }
  return places;
}

Successors between_groups(const Successors& successors, const std::vector<int>& group_of,
                          int group_count) {
  Successors grouped(at(group_count));
  for (std::size_t item = 0; item < successors.size(); ++item) {
    for (const int next : successors[item]) {
      if (group_of[item] != group_of[at(next)]) {
        grouped[at(group_of[item])].push_back(group_of[at(next)]);
      }
    }
  }
  for (std::vector<int>& next : grouped) sort_unique(next);
  return grouped;
}

std::vector<Tensor> joined_tensors(const std::vector<Tensor>& tensors,
                                   const std::vector<int>& group_of) {
  std::vector<Tensor> moved;
  for (const Tensor& tensor : tensors) {
    Tensor outside{group_of[at(tensor.home)], tensor.cost, {}};
    for (const int reader : tensor.readers) {
      if (group_of[at(reader)] != outside.home) outside.readers.push_back(group_of[at(reader)]);
    }
    sort_unique(outside.readers);
    if (!outside.readers.empty()) moved.push_back(std::move(outside));
  }
  const auto key = [](const Tensor& tensor) { return std::tie(tensor.home, tensor.readers); };
  std::stable_sort(moved.begin(), moved.end(),
                   [&](const Tensor& a, const Tensor& b) { return key(a) < key(b); });
  std::vector<Tensor> joined;
  for (Tensor& tensor : moved) {
    if (!joined.empty() && key(joined.back()) == key(tensor)) {
      joined.back().cost += tensor.cost;
    } else {
      joined.push_back(std::move(tensor));
    }
  }
  return joined;
}

/// Tarjan's algorithm (SIAM J. Comput. 1, 1972) without recursion.
class Components {
 public:
  explicit Components(const Successors& relation)
      : relation_(relation), order_(relation.size(), 0), low_(relation.size(), 0) {
    groups_.of_item.assign(relation.size(), -1);
  }

  Groups find() {
    for (int item = 0; item < static_cast<int>(relation_.size()); ++item) {
      if (order_[at(item)] == 0) explore(item);
    }
    return std::move(groups_);
  }

 private:
  struct Visit {
    int item;
    std::size_t next;
  };

  void enter(int item) {
    order_[at(item)] = low_[at(item)] = ++visited_count_;
    open_.push_back(item);
    path_.push_back({item, 0});
  }

  void explore(int start) {
    enter(start);
    while (!path_.empty()) {
      Visit& visit = path_.back();
      const int item = visit.item;
      if (visit.next < relation_[at(item)].size()) {
        const int next = relation_[at(item)][visit.next++];
        if (order_[at(next)] == 0) {
          enter(next);
        } else if (groups_.of_item[at(next)] < 0) {
          low_[at(item)] = std::min(low_[at(item)], order_[at(next)]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) {
        int& low = low_[at(path_.back().item)];
        low = std::min(low, low_[at(item)]);
      }
      if (low_[at(item)] == order_[at(item)]) close(item);
    }
  }

  void close(int root) {
    for (int item = -1; item != root;) {
      item = open_.back();
      open_.pop_back();
      groups_.of_item[at(item)] = groups_.count;
    }
    ++groups_.count;
  }

  const Successors& relation_;
  std::vector<int> order_;  ///< 1-based time of the first visit
  std::vector<int> low_;
  std::vector<int> open_;
  std::vector<Visit> path_;
  int visited_count_ = 0;
  Groups groups_;
};

}  // namespace

ItemGraph contract(const ItemGraph& graph, const std::vector<int>& group_of_item, int group_count) {
  const Successors grouped = between_groups(graph.successors, group_of_item, group_count);
  const std::vector<int> places = topological_places(grouped);
  std::vector<int> place_of_item;
  for (const int group : group_of_item) place_of_item.push_back(places[at(group)]);
  ItemGraph contracted;
  contracted.items.resize(at(group_count));
  for (std::size_t item = 0; item < graph.items.size(); ++item) {
    const Item& part = graph.items[item];
    Item& whole = contracted.items[at(place_of_item[item])];
    whole.time += part.time;
    whole.cpu_time += part.cpu_time;
    whole.bytes += part.bytes;
    whole.parameters += part.parameters;
    whole.accelerator = whole.accelerator && part.accelerator;
    whole.cpu = whole.cpu && part.cpu;
    whole.nodes.insert(whole.nodes.end(), part.nodes.begin(), part.nodes.end());
  }
  contracted.successors = between_groups(graph.successors, place_of_item, group_count);
  contracted.tensors = joined_tensors(graph.tensors, place_of_item);
  return contracted;
}

Groups join_circles(const Successors& relation) {
  return Components(relation).find();
}

}  // namespace ppplan::planner
