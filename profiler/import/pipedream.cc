// PipeDream's graph.txt, read strictly: a line that means something else than it seems to is worse
// than an error.
#include "profiler/import/edges.h"
#include "profiler/import/import.h"
#include "reports/documents/excerpt.h"
#include "reports/documents/node.h"
#include "reports/documents/scalar.h"
#include "reports/documents/tree_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>

namespace ppplan::profiler {
namespace {

constexpr std::string_view kSeparator = " -- ";
constexpr double kMostMilliseconds = 1e15;  // documents hold up to 10^12 seconds
constexpr double kMostBytes = 9007199254740992.0;

/// A piece of a line that knows its column.
struct Piece {
  std::string_view text;
  int column = 1;

  /// The part before `separator`, which is removed from this piece with it; all, when it is absent.
  Piece take_until(std::string_view separator) {
    const std::size_t end = text.find(separator);
    const Piece taken{text.substr(0, end), column};
    const std::size_t skipped =
        end == std::string_view::npos ? text.size() : end + separator.size();
    text.remove_prefix(skipped);
    column += static_cast<int>(skipped);
    return taken;
  }
};

class GraphText {
 public:
  GraphText(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  ImportedGraph read() {
    while (!text_.empty()) {
      ++line_;
      Piece line = next_line();
      if (line.text.find_first_not_of(" \t") == std::string_view::npos) continue;
      if (line.text.front() == '\t') {
        read_edge(line);
      } else {
        read_node(line);
      }
    }
    if (graph_.profile.nodes.empty()) {
      fail_at(name_, {}, "expected nodes, found none", "is this PipeDream's graph.txt?");
    }
    graph_.profile.source = "pipedream";
    link_nodes(graph_.profile, resolve_edges(), name_, graph_.notes);
    return std::move(graph_);
  }

 private:
  struct NamedEdge {
    Piece source;
    Piece destination;
    int line = 0;
  };

  [[noreturn]] void fail(const Piece& at, const std::string& what, std::string hint = {}) const {
    fail_at(name_, {line_, at.column}, what, std::move(hint));
  }

  Piece next_line() {
    const std::size_t end = text_.find('\n');
    std::string_view line = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return {line, 1};
  }

  void read_node(Piece line) {
    if (graph_.profile.nodes.size() == kMostGraphNodes) {
      fail(line, fmt::format("expected at most {} nodes, found more", kMostGraphNodes),
           "coarsen the graph: one node for several operators");
    }
    const Piece id = line.take_until(kSeparator);
    const Piece description = line.take_until(kSeparator);
    const Piece costs = line.take_until(kSeparator);
    if (id.text.empty() || costs.text.empty()) {
      fail(id,
           fmt::format("expected 'id -- description -- key=value, ...', found '{}'",
                       excerpt(id.text)),
           "an edge starts with a tab");
    }
    const Piece stage = line.take_until(kSeparator);
    const bool plain =
        line.text.empty() && (stage.text.empty() || stage.text.starts_with("stage_id="));
    if (!plain) fail(stage, fmt::format("expected stage_id=K, found '{}'", excerpt(stage.text)));
    const auto [first, fresh] =
        index_.emplace(id.text, static_cast<int>(graph_.profile.nodes.size()));
    if (!fresh) {
      fail(id, fmt::format("expected each node once, found {} again", excerpt(id.text)));
    }
    GraphNode& node = graph_.profile.nodes.emplace_back();
    node.name = id.text;
    node.description = description.text;
    read_costs(costs, node);
  }

  void read_costs(Piece costs, GraphNode& node) const {
    static const std::vector<std::string> kKeys = {"forward_compute_time", "backward_compute_time",
                                                   "activation_size", "parameter_size"};
    std::array<std::optional<double>, 4> values;
    Piece rest = costs;
    while (!rest.text.empty()) {
      Piece value = rest.take_until(", ");
      const Piece key = value.take_until("=");
      const auto known = std::find(kKeys.begin(), kKeys.end(), key.text);
      if (known == kKeys.end()) {
        const auto near = nearest_word(key.text, kKeys);
        fail(key, fmt::format("expected a known key, found '{}'", excerpt(key.text)),
             near ? fmt::format("did you mean {}?", *near) : "");
      }
      std::optional<double>& slot = values[static_cast<std::size_t>(known - kKeys.begin())];
      if (slot) fail(key, fmt::format("expected {} once, found it again", *known));
      const bool time = known - kKeys.begin() < 2;
      slot = read_sum(value, *known, time ? kMostMilliseconds : kMostBytes);
    }
    for (std::size_t key = 0; key < kKeys.size(); ++key) {
      if (!values[key]) fail(costs, fmt::format("expected {}, found no such key", kKeys[key]));
    }
    node.forward = Seconds(*values[0] / 1000.0);
    node.backward = Seconds(*values[1] / 1000.0);
    node.output = Bytes{std::llround(*values[2])};
    node.parameters = Bytes{std::llround(*values[3])};
  }

  /// A number, or "[a; b; c]" for a sum.
  double read_sum(Piece value, const std::string& key, double most) const {
    double sum = 0.0;
    const Piece whole = value;
    if (value.text.starts_with('[') && value.text.ends_with(']')) {
      value = {value.text.substr(1, value.text.size() - 2), value.column + 1};
    }
    do {
      const Piece part = value.take_until("; ");
      const std::optional<double> number = to_number(part.text);
      if (!number || *number < 0.0) {
        fail(part,
             fmt::format("{}: expected a number from 0, found '{}'", key, excerpt(part.text)));
      }
      sum += *number;
    } while (!value.text.empty());
    if (sum > most) {
      fail(whole, fmt::format("{}: expected at most {:g}, found {:g}", key, most, sum));
    }
    return sum;
  }

  void read_edge(Piece line) {
    if (edges_.size() == kMostGraphEdges) {
      fail(line, fmt::format("expected at most {} edges, found more", kMostGraphEdges));
    }
    line.take_until("\t");
    const Piece source = line.take_until(kSeparator);
    if (source.text.empty() || line.text.empty()) {
      fail(source,
           fmt::format("expected 'source -- destination', found '{}'", excerpt(source.text)));
    }
    edges_.push_back({source, line, line_});
  }

  /// Nodes may stand after the edges that name them.
  std::vector<ForeignEdge> resolve_edges() {
    std::vector<ForeignEdge> edges;
    const auto find = [&](const Piece& id, int line) {
      const auto found = index_.find(id.text);
      if (found != index_.end()) return found->second;
      fail_at(name_, {line, id.column},
              fmt::format("expected the id of a node, found '{}'", excerpt(id.text)));
    };
    for (const NamedEdge& edge : edges_) {
      edges.push_back({find(edge.source, edge.line), find(edge.destination, edge.line)});
    }
    return edges;
  }

  std::string_view text_;
  const std::string& name_;
  int line_ = 0;
  ImportedGraph graph_;
  std::unordered_map<std::string_view, int> index_;
  std::vector<NamedEdge> edges_;
};

}  // namespace

ImportedGraph import_pipedream(std::string_view text, const std::string& name) {
  text = without_byte_order_mark(text);
  check_text(text, name);
  return GraphText(text, name).read();
}

}  // namespace ppplan::profiler
