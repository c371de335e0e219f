// Edges of a foreign graph: repeated ones counted, the rest handed to their nodes.
#pragma once

#include "reports/documents/graph_profile.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ppplan::profiler {

struct ForeignEdge {
  int source = 0;
  int destination = 0;
};

/// Fills `next` of the nodes, each reader once and in ascending order, and adds a note when edges
/// were repeated. Throws Error(kBadInput) naming `file` when the edges form a cycle.
/// O(nodes + edges log edges).
void link_nodes(GraphProfile& profile, const std::vector<ForeignEdge>& edges,
                const std::string& file, std::vector<std::string>& notes);

}  // namespace ppplan::profiler
