#include "profiler/import/import.h"

#include "reports/documents/tree_builder.h"

namespace ppplan::profiler {

ImportedGraph import_graph(std::string_view text, const std::string& name) {
  const std::string_view body = without_byte_order_mark(text);
  const std::size_t start = body.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) {
    fail_at(name, {}, "expected a graph, found an empty file",
            "give PipeDream's graph.txt or the JSON of dnn-partitioning");
  }
  const bool json = body[start] == '{' || body[start] == '[';
  return json ? import_dnn_partitioning(text, name) : import_pipedream(text, name);
}

}  // namespace ppplan::profiler
