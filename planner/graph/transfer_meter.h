// What a set of items pays for tensors that cross its border, kept up to date while items come and
// go.
#pragma once

#include "planner/graph/item_graph.h"

#include <cstddef>
#include <vector>

namespace ppplan::planner {

/// A stage pays the cost of each tensor that it reads from outside, and of each that it makes and
/// someone outside reads; each once.
class TransferMeter {
 public:
  explicit TransferMeter(const ItemGraph& graph);

  /// What crossing tensors cost. `settled` is the part that no further item can take away: tensors
  /// read from before the stage.
  struct Cost {
    double total = 0.0;
    double settled = 0.0;
  };

  /// Items before the stage; the stage must be empty.
  void place_before(std::size_t item) { place_[item] = Place::kBefore; }
  void unplace(std::size_t item) { place_[item] = Place::kOutside; }

  /// Adds an item to the stage, or takes the one added last away again; `cost` was or becomes the
  /// stage's before it. O(tensors of the item).
  Cost add(std::size_t item, Cost cost);
  void remove(std::size_t item);

 private:
  enum class Place : unsigned char { kOutside, kBefore, kInside };

  struct Use {
    std::size_t tensor;
    std::size_t home;
    double cost;
    int reader_count;
  };

  std::vector<std::vector<Use>> read_by_;  ///< by item
  std::vector<std::vector<Use>> made_by_;
  std::vector<int> inside_readers_;  ///< by tensor
  std::vector<Place> place_;         ///< by item
};

}  // namespace ppplan::planner
