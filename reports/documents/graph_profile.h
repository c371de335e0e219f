// graph_profile.yaml: what the operators of a model cost, as a graph, got from another planner's
// file. It needs no model: nothing in it can be run, but it can be cut into stages.
#pragma once

#include "reports/documents/profile.h"
#include "reports/documents/units.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppplan {

/// A reader refuses more, so that every later step stays bounded.
inline constexpr std::size_t kMostGraphNodes = 100'000;
inline constexpr std::size_t kMostGraphEdges = 1'000'000;

/// An operator or layer, for one mini-batch. A node holds both passes, or it is a node of one pass:
/// then the other pass's time is 0.
struct GraphNode {
  std::string name;         ///< as in the source; unique
  std::string description;  ///< "Conv2d(3, 64, ...)"; may be empty
  bool backward_pass = false;
  bool accelerator = true;                  ///< may be placed on an accelerator
  std::optional<std::int64_t> color_class;  ///< nodes of one class share a device
  Seconds forward{0};
  Seconds backward{0};
  std::optional<Seconds> cpu;       ///< both passes on a CPU; empty: not on a CPU
  Bytes output;                     ///< sent to every device that reads it
  std::optional<Seconds> transfer;  ///< of the output, where the source states time, not bytes
  Bytes parameters;
  Bytes memory;           ///< needed on a device, where the source states it as a whole
  std::vector<int> next;  ///< indices of the nodes that read the output; each once
  bool operator==(const GraphNode&) const = default;
};

/// The machine that the source asks about.
struct GraphMachine {
  int accelerators = 0;
  int cpus = 0;
  Bytes memory;  ///< of one accelerator
  bool operator==(const GraphMachine&) const = default;
};

struct GraphProfile {
  std::string tool_version;
  std::string input_sha256;  ///< of the file it was made from
  Origin origin = Origin::kImported;
  std::string source;  ///< "pipedream", "dnn-partitioning"
  std::optional<GraphMachine> machine;
  std::vector<GraphNode> nodes;  ///< at least one; their edges form no cycle
  bool operator==(const GraphProfile&) const = default;
};

/// The nodes of one cycle in the order of its edges; empty when there is none. O(nodes + edges).
std::vector<int> find_cycle(const std::vector<GraphNode>& nodes);
/// "a -> b -> a", long cycles cut short, for messages.
std::string cycle_text(const std::vector<GraphNode>& nodes, const std::vector<int>& cycle);

/// Whether the text starts with this document's schema line, whatever its version.
bool is_graph_profile(std::string_view text);

/// Throws Error(kBadInput) "file:line:column: key: expected ..., found ..." with a hint.
GraphProfile read_graph_profile(std::string_view text, const std::string& name);
/// The document; reading it back gives an equal GraphProfile.
std::string write_graph_profile(const GraphProfile& profile);

}  // namespace ppplan
