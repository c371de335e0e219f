#include "planner/graph/lattice.h"

#include <algorithm>

namespace ppplan::planner {
namespace {

constexpr Lattice::Ideal kUnknown = 0xFFFF'FFFF;

std::vector<int> predecessor_counts(const Successors& successors) {
  std::vector<int> counts(successors.size(), 0);
  for (const std::vector<int>& next : successors) {
    for (const int item : next) ++counts[static_cast<std::size_t>(item)];
  }
  return counts;
}

}  // namespace

/// Grows the tree of parents depth-first; then the steps that lead to other parents' children are
/// found by going round: with m the largest item of I and v < m, I + v is (I - m) + v + m.
class Lattice::Builder {
 public:
  Builder(const Successors& successors, const LatticeLimits& limits)
      : successors_(successors), limits_(limits), missing_(predecessor_counts(successors)) {}

  std::optional<Lattice> build() {
    if (!grow_tree()) return std::nullopt;
    join_branches();
    return std::move(lattice_);
  }

 private:
  struct Visit {
    Ideal ideal;
    std::size_t next_step;
  };

  bool grow_tree() {
    std::vector<std::uint32_t> addable;
    for (std::size_t item = successors_.size(); item-- > 0;) {
      if (missing_[item] == 0) addable.push_back(static_cast<std::uint32_t>(item));
    }
    lattice_.first_step_ = {0};
    add_ideal(0, 0, addable);
    std::vector<Visit> path = {{0, 0}};
    while (!path.empty()) {
      Visit& visit = path.back();
      const std::size_t end = lattice_.first_step_[visit.ideal + 1];
      const bool leaf =
          visit.next_step == end ||
          (visit.ideal != 0 && lattice_.steps_[visit.next_step].item < lattice_.last_[visit.ideal]);
      if (leaf) {
        if (visit.ideal != 0) leave(lattice_.last_[visit.ideal]);
        path.pop_back();
        continue;
      }
      const std::size_t step = visit.next_step++;
      const Ideal grown = enter(visit.ideal, step);
      if (lattice_.size() > limits_.ideals || lattice_.steps_.size() > limits_.edges) return false;
      path.push_back({grown, lattice_.first_step_[grown]});
    }
    return true;
  }

  Ideal enter(Ideal parent, std::size_t step) {
    const std::uint32_t item = lattice_.steps_[step].item;
    addable_.clear();
    for (const Step& other : lattice_.steps(parent)) {
      if (other.item != item) addable_.push_back(other.item);
    }
    for (const int next : successors_[item]) {
      if (--missing_[static_cast<std::size_t>(next)] == 0) {
        addable_.push_back(static_cast<std::uint32_t>(next));
      }
    }
    std::sort(addable_.begin(), addable_.end(), std::greater<>());
    const auto grown = static_cast<Ideal>(lattice_.size());
    lattice_.steps_[step].ideal = grown;
    add_ideal(parent, item, addable_);
    return grown;
  }

  void leave(std::size_t item) {
    for (const int next : successors_[item]) ++missing_[static_cast<std::size_t>(next)];
  }

  void add_ideal(Ideal parent, std::uint32_t last, const std::vector<std::uint32_t>& addable) {
    lattice_.parent_.push_back(parent);
    lattice_.last_.push_back(last);
    for (const std::uint32_t item : addable) lattice_.steps_.push_back({item, kUnknown});
    lattice_.first_step_.push_back(lattice_.steps_.size());
  }

  void join_branches() {
    for (Ideal ideal = 1; ideal < lattice_.size(); ++ideal) {
      for (std::size_t step = lattice_.first_step_[ideal]; step < lattice_.first_step_[ideal + 1];
           ++step) {
        Step& open = lattice_.steps_[step];
        if (open.ideal != kUnknown) continue;
        const Ideal beside = lattice_.grown(lattice_.parent_[ideal], open.item);
        open.ideal = lattice_.grown(beside, lattice_.last_[ideal]);
      }
    }
  }

  const Successors& successors_;
  const LatticeLimits& limits_;
  std::vector<int> missing_;  ///< by item: predecessors outside the ideal being visited
  std::vector<std::uint32_t> addable_;
  Lattice lattice_;
};

std::optional<Lattice> Lattice::build(const Successors& successors, const LatticeLimits& limits) {
  return Builder(successors, limits).build();
}

Lattice::Ideal Lattice::grown(Ideal ideal, std::size_t item) const {
  const std::span<const Step> all = steps(ideal);
  return std::lower_bound(all.begin(), all.end(), item,
                          [](const Step& step, std::size_t wanted) { return step.item > wanted; })
      ->ideal;
}

std::vector<double> Lattice::sums(const std::vector<double>& of_item) const {
  std::vector<double> sums(size(), 0.0);
  for (Ideal ideal = 1; ideal < size(); ++ideal) {
    sums[ideal] = sums[parent_[ideal]] + of_item[last_[ideal]];
  }
  return sums;
}

std::vector<std::size_t> Lattice::items_between(Ideal smaller, Ideal larger) const {
  std::vector<std::size_t> items;
  for (; larger != 0; larger = parent_[larger]) {
    // Both list their items in descending order.
    if (smaller != 0 && last_[smaller] == last_[larger]) {
      smaller = parent_[smaller];
    } else {
      items.push_back(last_[larger]);
    }
  }
  return items;
}

std::vector<std::size_t> bottleneck_items(const Successors& successors) {
  std::vector<int> missing = predecessor_counts(successors);
  std::vector<int> maximal_predecessors(successors.size(), 0);
  auto addable_count = std::count(missing.begin(), missing.end(), 0);
  int maximal_count = 0;
  std::vector<bool> maximal(successors.size(), false);
  std::vector<std::vector<std::size_t>> predecessors(successors.size());
  for (std::size_t item = 0; item < successors.size(); ++item) {
    for (const int next : successors[item]) {
      predecessors[static_cast<std::size_t>(next)].push_back(item);
    }
  }
  std::vector<std::size_t> found;
  for (std::size_t item = 0; item < successors.size(); ++item) {
    // With the items before it an ideal: it alone can come next, and it follows all of them.
    int followed = 0;
    for (const std::size_t before : predecessors[item]) followed += maximal[before] ? 1 : 0;
    if (addable_count == 1 && followed == maximal_count) found.push_back(item);
    for (const std::size_t before : predecessors[item]) maximal[before] = false;
    maximal[item] = true;
    maximal_count += 1 - followed;
    --addable_count;
    for (const int next : successors[item]) {
      if (--missing[static_cast<std::size_t>(next)] == 0) ++addable_count;
    }
  }
  return found;
}

}  // namespace ppplan::planner
