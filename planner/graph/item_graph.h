// What a graph's cuts are searched over: items that go to a device as a whole, which of them must
// come first, and the tensors between them.
#pragma once

#include "planner/graph/lattice.h"

#include <cstddef>
#include <vector>

namespace ppplan::planner {

/// Nodes that stay together.
struct Item {
  double time = 0.0;        ///< on an accelerator, s
  double cpu_time = 0.0;    ///< on a CPU, s
  double bytes = 0.0;       ///< needed on the accelerator that has it
  double parameters = 0.0;  ///< of those, bytes that replicas must keep equal
  bool accelerator = true;  ///< may be placed on one
  bool cpu = true;          ///< may be placed on one
  std::vector<int> nodes;   ///< indices of the profile's nodes
};

/// Something that one item makes and others read. `cost` is paid once by each device that reads it
/// from elsewhere, and once by the device that sends it: in seconds, or in bytes.
struct Tensor {
  int home = 0;
  double cost = 0.0;
  std::vector<int> readers;  ///< ascending, without the home, not empty
};

/// Items are numbered topologically.
struct ItemGraph {
  std::vector<Item> items;
  Successors successors;
  std::vector<Tensor> tensors;
};

/// One item a group. Precedences and tensors inside a group vanish; tensors with one home and the
/// same readers become one. Groups may be numbered in any way, but must not wait for each other in
/// a circle: join_circles first. O((items + relations + readers) log).
ItemGraph contract(const ItemGraph& graph, const std::vector<int>& group_of_item, int group_count);

/// The strongly connected components of a relation that may have circles, as a group number by
/// item, and their number. O(items + relations).
struct Groups {
  std::vector<int> of_item;
  int count = 0;
};
Groups join_circles(const Successors& relation);

}  // namespace ppplan::planner
