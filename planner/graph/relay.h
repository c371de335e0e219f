// Stages that reach over an ideal through which the whole lattice passes. Their cost is that of the
// part before it plus that of the part behind it, so the best beginning of a stage that ends at a
// given ideal is found in a sorted list: no pair is formed.
#pragma once

#include "planner/graph/item_graph.h"
#include "planner/graph/lattice.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace ppplan::planner {

/// An ideal comparable to every other, and the item that completes it.
struct RelayPoint {
  Lattice::Ideal ideal = 0;
  std::size_t item = 0;
};

/// The relay points of a lattice in ascending order, the full ideal left out. With `tensors`, only
/// those where each tensor over the point is made or read before it by the completing item alone,
/// so that transfer costs on the two sides add up.
std::vector<RelayPoint> relay_points(const ItemGraph& graph, const Lattice& lattice);
std::vector<RelayPoint> additive_relay_points(const ItemGraph& graph, const Lattice& lattice);

/// One way to begin a stage: `value` is the bottleneck so far, `cost` that of the stage's part up
/// to the relay point.
struct Beginning {
  double cost = 0.0;
  double value = 0.0;
  Lattice::Ideal from = 0;
};

/// The beginnings of one state that could be best for some end: by ascending cost, each with a
/// lower bottleneck than all before it.
class Beginnings {
 public:
  /// To be called in order of ascending cost.
  void add(const Beginning& beginning) {
    if (front_.empty() || beginning.value < front_.back().value) front_.push_back(beginning);
  }
  [[nodiscard]] bool empty() const { return front_.empty(); }
  void clear() { front_.clear(); }

  struct Best {
    double value;  ///< max(bottleneck so far, cost of the whole stage)
    Lattice::Ideal from;
  };
  /// For a stage whose part behind the point costs `rest`. Precondition: not empty. O(log size).
  [[nodiscard]] Best best(double rest) const;

 private:
  std::vector<Beginning> front_;
};

}  // namespace ppplan::planner
