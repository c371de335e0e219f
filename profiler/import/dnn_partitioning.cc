// The JSON of dnn-partitioning. Keys that it does not define (names of layers, remarks) are let be.
#include "profiler/import/edges.h"
#include "profiler/import/import.h"
#include "reports/documents/node.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>

namespace ppplan::profiler {
namespace {

constexpr IntegerRange kAnyInteger = {std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::int64_t>::max()};
constexpr IntegerRange kDevices = {0, 65'536};
constexpr NumberRange kMilliseconds = {0.0, 1e15};  // documents hold up to 10^12 seconds
constexpr NumberRange kBytes = {0.0, 9007199254740992.0};
constexpr double kSameCost = 1e-6;  // milliseconds

Seconds milliseconds(const Fields& fields, std::string_view key) {
  return Seconds(fields.number(key, kMilliseconds) / 1000.0);
}

Bytes bytes(const Fields& fields, std::string_view key) {
  return Bytes{std::llround(fields.number(key, kBytes))};
}

/// true and false, or 1 and 0.
bool flag(const Fields& fields, std::string_view key) {
  const Node& value = fields.node(key);
  if (value.scalar == "true" || value.scalar == "false") return fields.boolean(key);
  return fields.count(key, {0, 1}) == 1;
}

GraphNode read_node(const Fields& fields) {
  GraphNode node;
  node.name = std::to_string(fields.integer("id", kAnyInteger));
  if (fields.has("name")) node.description = fields.text("name");
  node.backward_pass = flag(fields, "isBackwardNode");
  node.accelerator = flag(fields, "supportedOnFpga");
  (node.backward_pass ? node.backward : node.forward) = milliseconds(fields, "fpgaLatency");
  node.cpu = milliseconds(fields, "cpuLatency");
  if (fields.has("size")) node.memory = bytes(fields, "size");
  if (fields.has("colorClass")) node.color_class = fields.integer("colorClass", kAnyInteger);
  node.transfer = Seconds(0);
  return node;
}

class Edges {
 public:
  explicit Edges(GraphProfile& profile) : profile_(profile), known_(profile.nodes.size(), false) {
    for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
      index_.emplace(profile.nodes[node].name, static_cast<int>(node));
    }
  }

  ForeignEdge read(const Fields& fields) {
    const ForeignEdge edge{find(fields, "sourceId"), find(fields, "destId")};
    const Seconds cost = milliseconds(fields, "cost");
    const auto source = static_cast<std::size_t>(edge.source);
    Seconds& transfer = *profile_.nodes[source].transfer;
    if (known_[source] && std::abs((cost - transfer).count()) > kSameCost / 1000.0) {
      fields.fail("cost",
                  fmt::format("expected the same on every edge out of node {}, found {:g} and {:g}",
                              profile_.nodes[source].name, 1000.0 * transfer.count(),
                              1000.0 * cost.count()),
                  "a node's output is one tensor: give all its edges that tensor's cost");
    }
    known_[source] = true;
    transfer = std::max(transfer, cost);
    return edge;
  }

 private:
  int find(const Fields& fields, std::string_view key) const {
    const auto found = index_.find(std::to_string(fields.integer(key, kAnyInteger)));
    if (found == index_.end()) fields.fail(key, "expected the id of a node, found another number");
    return found->second;
  }

  GraphProfile& profile_;
  std::unordered_map<std::string, int> index_;
  std::vector<bool> known_;
};

void check_count(const Fields& fields, std::string_view key, std::size_t count, std::size_t most) {
  if (count <= most) return;
  fields.fail(key, fmt::format("expected at most {}, found {}", most, count),
              "coarsen the graph: one node for several operators");
}

}  // namespace

ImportedGraph import_dnn_partitioning(std::string_view text, const std::string& name) {
  const ParsedFile file = parse_json(text, name);
  const Fields fields(file, file.root);
  ImportedGraph graph;
  GraphProfile& profile = graph.profile;
  profile.source = "dnn-partitioning";
  profile.machine = GraphMachine{.accelerators = fields.count("maxFPGAs", kDevices),
                                 .cpus = fields.count("maxCPUs", kDevices),
                                 .memory = bytes(fields, "maxSizePerFPGA")};
  const std::vector<Fields> nodes = fields.maps("nodes");
  if (nodes.empty()) fields.fail("nodes", "expected at least one node, found none");
  check_count(fields, "nodes", nodes.size(), kMostGraphNodes);
  std::unordered_map<std::string, std::size_t> first;
  for (const Fields& row : nodes) {
    profile.nodes.push_back(read_node(row));
    const std::string& id = profile.nodes.back().name;
    if (!first.emplace(id, profile.nodes.size()).second) {
      row.fail("id", fmt::format("expected each node once, found {} again", id));
    }
  }
  const std::vector<Fields> rows = fields.maps("edges");
  check_count(fields, "edges", rows.size(), kMostGraphEdges);
  Edges reader(profile);
  std::vector<ForeignEdge> edges;
  for (const Fields& row : rows) edges.push_back(reader.read(row));
  for (const std::string& warning : file.warnings) graph.notes.push_back(warning);
  link_nodes(profile, edges, name, graph.notes);
  return graph;
}

}  // namespace ppplan::profiler
