// Graphs as chains: upper bounds for the exact search, and the answer where a graph has too many
// ideals for one.
#pragma once

#include "planner/graph/item_graph.h"

#include <cstddef>
#include <vector>

namespace ppplan::planner {

/// Several topological orders of a graph's items: deep first, from the start and from the end,
/// broad first, and the one that keeps the transfer costs across each position low (left out for
/// large graphs, as it takes time quadratic in their width).
std::vector<std::vector<int>> topological_orders(const ItemGraph& graph);

/// The graph with its items chained in that order, whose only contiguous cuts are those between
/// neighbours. At most `most_positions` items are left (at least 1): of longer chains, one cut
/// position in each stretch of equal length is kept, the one over which least is transferred.
ItemGraph linearized(const ItemGraph& graph, const std::vector<int>& order,
                     std::size_t most_positions);

}  // namespace ppplan::planner
