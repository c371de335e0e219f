// Items whose placement is never a question, so that the lattice need not ask it.
#pragma once

#include "planner/graph/item_graph.h"

namespace ppplan::planner {

/// The graph with every idle leaf joined to its neighbour: an item that takes no time anywhere, has
/// no parameters and has relations and tensors with one other item only. Wherever the neighbour is,
/// the leaf does no harm there, and a tensor between the two is saved; so the least bottleneck
/// stays what it was. Where `memory_may_bind`, only items that need no memory are joined. O(items +
/// relations + readers), up to a logarithm.
ItemGraph without_idle_leaves(const ItemGraph& graph, bool memory_may_bind);

}  // namespace ppplan::planner
