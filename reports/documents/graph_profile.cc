#include "reports/documents/graph_profile.h"

#include "reports/documents/described.h"
#include "reports/documents/excerpt.h"
#include "reports/documents/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace ppplan {
namespace {

constexpr Schema kSchema = {"graph_profile", 1};
constexpr IntegerRange kDevices = {0, 65'536};
constexpr IntegerRange kColorClasses = {INT64_MIN, INT64_MAX};

/// A node beside the names of its readers, as the file holds them.
template <typename Node>
struct NamedNode {
  Node* node;
  std::vector<std::string> next;
};

template <typename Io, typename Node>
void describe_node(Io& io, Node& node, std::vector<std::string>& next) {
  io("name", node.name);
  io("description", node.description);
  io("backward_pass", node.backward_pass);
  io("accelerator", node.accelerator);
  io.optional("color_class", node.color_class, kColorClasses);
  io("forward_s", node.forward);
  io("backward_s", node.backward);
  io.optional("cpu_s", node.cpu);
  io("output_bytes", node.output);
  io.optional("transfer_s", node.transfer);
  io("parameter_bytes", node.parameters);
  io("memory_bytes", node.memory);
  io("next", next);
}

}  // namespace

void describe(MappingReader& io, NamedNode<GraphNode>& named) {
  describe_node(io, *named.node, named.next);
}

void describe(MappingWriter& io, const NamedNode<const GraphNode>& named) {
  std::vector<std::string> next = named.next;
  describe_node(io, *named.node, next);
}

template <typename Io>
void describe(Io& io, Like<GraphMachine> auto& machine) {
  io("accelerators", machine.accelerators, kDevices);
  io("cpus", machine.cpus, kDevices);
  io("memory_bytes", machine.memory);
}

namespace {

template <typename Io, typename Document>
void describe_head(Io& io, Document& profile) {
  io("tool_version", profile.tool_version);
  io("input_sha256", profile.input_sha256);
  io.word("origin", profile.origin, origin_words());
  io("source", profile.source);
  io.optional_row("machine", profile.machine);
}

[[noreturn]] void fail_limit(const Fields& fields, std::string_view key, const char* what,
                             std::size_t most) {
  fields.fail(key, fmt::format("expected at most {} {}, found more", most, what),
              "coarsen the graph: one node for several operators");
}

/// Turns names into indices.
class Linker {
 public:
  void add(const std::string& name, const Fields& fields) {
    const auto [first, fresh] = index_.emplace(name, static_cast<int>(index_.size()));
    if (fresh) return;
    fields.fail("name", fmt::format("expected each name once, found {} again (first is node {})",
                                    excerpt(name), first->second));
  }
  std::vector<int> resolve(const std::vector<std::string>& names, const Fields& fields) {
    edge_count_ += names.size();
    if (edge_count_ > kMostGraphEdges) fail_limit(fields, "next", "edges", kMostGraphEdges);
    std::vector<int> next;
    std::unordered_set<int> seen;
    for (const std::string& name : names) {
      const auto found = index_.find(name);
      if (found == index_.end()) {
        fields.fail("next", fmt::format("expected names of nodes, found {}", excerpt(name)));
      }
      if (!seen.insert(found->second).second) {
        fields.fail("next", fmt::format("expected each node once, found {} again", excerpt(name)));
      }
      next.push_back(found->second);
    }
    return next;
  }

 private:
  std::unordered_map<std::string, int> index_;
  std::size_t edge_count_ = 0;
};

}  // namespace

void describe(MappingReader& io, GraphProfile& profile) {
  describe_head(io, profile);
  const std::vector<Fields> rows = io.fields().maps("nodes");
  if (rows.empty()) io.fields().fail("nodes", "expected at least one node, found none");
  if (rows.size() > kMostGraphNodes) fail_limit(io.fields(), "nodes", "nodes", kMostGraphNodes);
  profile.nodes.assign(rows.size(), {});
  std::vector<std::vector<std::string>> next;
  Linker linker;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    NamedNode<GraphNode> named{&profile.nodes[row], {}};
    MappingReader::fill(rows[row], named);
    linker.add(named.node->name, rows[row]);
    next.push_back(std::move(named.next));
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    profile.nodes[row].next = linker.resolve(next[row], rows[row]);
  }
}

void describe(MappingWriter& io, const GraphProfile& profile) {
  describe_head(io, profile);
  std::vector<NamedNode<const GraphNode>> rows;
  for (const GraphNode& node : profile.nodes) {
    NamedNode<const GraphNode>& row = rows.emplace_back();
    row.node = &node;
    for (const int reader : node.next) {
      row.next.push_back(profile.nodes[static_cast<std::size_t>(reader)].name);
    }
  }
  io.rows("nodes", rows);
}

void validate(const GraphProfile& profile, const Fields& fields) {
  const std::vector<int> cycle = find_cycle(profile.nodes);
  if (cycle.empty()) return;
  fields.fail("nodes", fmt::format("expected a graph without cycles, found {}",
                                   cycle_text(profile.nodes, cycle)));
}

std::vector<int> find_cycle(const std::vector<GraphNode>& nodes) {
  std::vector<int> missing(nodes.size(), 0);
  for (const GraphNode& node : nodes) {
    for (const int reader : node.next) ++missing[static_cast<std::size_t>(reader)];
  }
  std::vector<std::size_t> ready;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (missing[node] == 0) ready.push_back(node);
  }
  std::size_t sorted_count = 0;
  for (; !ready.empty(); ++sorted_count) {
    const std::size_t node = ready.back();
    ready.pop_back();
    for (const int reader : nodes[node].next) {
      if (--missing[static_cast<std::size_t>(reader)] == 0) {
        ready.push_back(static_cast<std::size_t>(reader));
      }
    }
  }
  if (sorted_count == nodes.size()) return {};
  // Every node left waits for another one left: walking to what is waited for comes round.
  std::vector<int> waits_for(nodes.size(), -1);
  int start = 0;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (missing[node] == 0) continue;
    for (const int reader : nodes[node].next) {
      if (missing[static_cast<std::size_t>(reader)] == 0) continue;
      waits_for[static_cast<std::size_t>(reader)] = static_cast<int>(node);
      start = reader;
    }
  }
  std::vector<int> walk;
  std::vector<bool> visited(nodes.size(), false);
  for (int node = start; !visited[static_cast<std::size_t>(node)];
       node = waits_for[static_cast<std::size_t>(node)]) {
    visited[static_cast<std::size_t>(node)] = true;
    walk.push_back(node);
    start = waits_for[static_cast<std::size_t>(node)];
  }
  walk.erase(walk.begin(), std::find(walk.begin(), walk.end(), start));
  std::reverse(walk.begin(), walk.end());
  return walk;
}

std::string cycle_text(const std::vector<GraphNode>& nodes, const std::vector<int>& cycle) {
  constexpr std::size_t kMostNames = 6;
  std::string text;
  for (std::size_t place = 0; place < std::min(cycle.size(), kMostNames); ++place) {
    text += excerpt(nodes[static_cast<std::size_t>(cycle[place])].name) + " -> ";
  }
  if (cycle.size() > kMostNames) text += "... -> ";
  return text + excerpt(nodes[static_cast<std::size_t>(cycle.front())].name);
}

bool is_graph_profile(std::string_view text) {
  return text.starts_with("schema: ppplan.graph_profile/");
}

GraphProfile read_graph_profile(std::string_view text, const std::string& name) {
  return read_document<GraphProfile>(text, name, kSchema);
}

std::string write_graph_profile(const GraphProfile& profile) {
  return write_document(profile, kSchema);
}

}  // namespace ppplan
