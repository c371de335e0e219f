// Reads the graphs that other planners plan from: PipeDream's graph.txt and dnn-partitioning's
// JSON.
#pragma once

#include "reports/documents/graph_profile.h"

#include <string>
#include <string_view>
#include <vector>

namespace ppplan::profiler {

struct ImportedGraph {
  GraphProfile profile;            ///< without tool_version and input_sha256
  std::vector<std::string> notes;  ///< what was tolerated, for the user
};

/// Reads a foreign graph, recognized by its content: JSON is dnn-partitioning's, anything else
/// PipeDream's. Edges that stand twice count once. Throws Error(kBadInput)
/// "file:line:column: ...": syntax, missing or negative numbers, unknown or repeated nodes, cycles,
/// more nodes or edges than kMostGraphNodes and kMostGraphEdges. O(size of the text).
ImportedGraph import_graph(std::string_view text, const std::string& name);

/// PipeDream (Narayanan et al., SOSP 2019): "id -- description -- key=value, ..." a node, and a tab
/// and "source -- destination" an edge. Times are milliseconds of a mini-batch, sizes bytes; an
/// activation_size in brackets is the sum of its parts. A stage_id is an old answer and is dropped.
ImportedGraph import_pipedream(std::string_view text, const std::string& name);

/// dnn-partitioning (Tarnawski et al., NeurIPS 2020). Latencies and costs are milliseconds (so the
/// layer graphs; the operator graphs are read alike), sizes bytes. A transfer costs the same on
/// every edge out of a node, or the file is refused.
ImportedGraph import_dnn_partitioning(std::string_view text, const std::string& name);

}  // namespace ppplan::profiler
