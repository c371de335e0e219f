#include "profiler/import/edges.h"

#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace ppplan::profiler {

void link_nodes(GraphProfile& profile, const std::vector<ForeignEdge>& edges,
                const std::string& file, std::vector<std::string>& notes) {
  for (const ForeignEdge& edge : edges) {
    profile.nodes[static_cast<std::size_t>(edge.source)].next.push_back(edge.destination);
  }
  std::size_t kept = 0;
  for (GraphNode& node : profile.nodes) {
    std::sort(node.next.begin(), node.next.end());
    node.next.erase(std::unique(node.next.begin(), node.next.end()), node.next.end());
    kept += node.next.size();
  }
  if (kept < edges.size()) {
    notes.push_back(
        fmt::format("note: {} edges stand more than once; each counts once", edges.size() - kept));
  }
  const std::vector<int> cycle = find_cycle(profile.nodes);
  if (cycle.empty()) return;
  throw Error(Failure::kBadInput,
              fmt::format("{}: expected a graph without cycles, found {}", file,
                          cycle_text(profile.nodes, cycle)),
              "remove one edge of the cycle");
}

}  // namespace ppplan::profiler
