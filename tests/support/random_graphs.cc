#include "tests/support/random_graphs.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace ppplan::testing {
namespace {

using Edges = std::vector<std::pair<int, int>>;

bool chance(std::mt19937& random, double probability) {
  return std::bernoulli_distribution(probability)(random);
}

double amount(std::mt19937& random) {
  return static_cast<double>(std::uniform_int_distribution<int>(1, 20)(random)) / 10.0;
}

Edges random_edges(std::mt19937& random, const RandomGraphOptions& options) {
  Edges edges;
  for (int to = 1; to < options.node_count; ++to) {
    for (int from = 0; from < to; ++from) {
      // Of blocks, every third node is what all others meet in.
      const bool across = options.blocks && to / 3 != from / 3;
      const bool meeting = options.blocks && (to % 3 == 0 ? from + 3 >= to : from == to / 3 * 3);
      if (meeting || (!across && chance(random, options.edge_probability))) {
        edges.emplace_back(from, to);
      }
    }
  }
  return edges;
}

void link(GraphProfile& profile, const Edges& edges) {
  for (const auto& [from, to] : edges)
    profile.nodes[static_cast<std::size_t>(from)].next.push_back(to);
}

GraphNode max_load_node(std::mt19937& random, const RandomGraphOptions& options, bool backward) {
  GraphNode node;
  node.backward_pass = backward;
  node.accelerator = chance(random, 0.9);
  const bool idle = chance(random, options.idle_probability);
  const Seconds time{idle ? 0.0 : amount(random)};
  (backward ? node.backward : node.forward) = time;
  node.cpu = time * 1.5;
  node.memory = Bytes{std::uniform_int_distribution<int>(0, 10)(random)};
  node.transfer = Seconds(amount(random) / 4.0);
  return node;
}

}  // namespace

GraphProfile random_max_load_graph(std::mt19937& random, const RandomGraphOptions& options) {
  GraphProfile profile{.source = "random"};
  const Edges edges = random_edges(random, options);
  for (int node = 0; node < options.node_count; ++node) {
    profile.nodes.push_back(max_load_node(random, options, false));
    if (chance(random, options.color_probability)) {
      profile.nodes.back().color_class = std::uniform_int_distribution<int>(0, 1)(random);
    }
  }
  link(profile, edges);
  std::vector<int> partner(profile.nodes.size(), -1);
  for (std::size_t node = 0; node < partner.size(); ++node) {
    if (!chance(random, options.backward_probability)) continue;
    partner[node] = static_cast<int>(profile.nodes.size());
    GraphNode backward = max_load_node(random, options, true);
    if (chance(random, 0.7)) {
      if (!profile.nodes[node].color_class) {
        profile.nodes[node].color_class = 10 + static_cast<std::int64_t>(node);
      }
      backward.color_class = profile.nodes[node].color_class;
    }
    profile.nodes.push_back(backward);
    if (chance(random, 0.5)) profile.nodes[node].next.push_back(partner[node]);
  }
  for (const auto& [from, to] : edges) {
    const int first = partner[static_cast<std::size_t>(to)];
    const int second = partner[static_cast<std::size_t>(from)];
    if (first >= 0 && second >= 0)
      profile.nodes[static_cast<std::size_t>(first)].next.push_back(second);
  }
  for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
    profile.nodes[node].name = "n" + std::to_string(node);
  }
  return profile;
}

GraphProfile random_pipedream_graph(std::mt19937& random, const RandomGraphOptions& options) {
  GraphProfile profile{.source = "random"};
  for (int index = 0; index < options.node_count; ++index) {
    GraphNode& node = profile.nodes.emplace_back();
    node.name = "n" + std::to_string(index);
    const bool idle = chance(random, options.idle_probability);
    node.forward = Seconds(idle ? 0.0 : amount(random));
    node.backward = Seconds(idle ? 0.0 : amount(random));
    node.output = Bytes{std::uniform_int_distribution<int>(0, 100)(random)};
    node.parameters = Bytes{idle ? 0 : std::uniform_int_distribution<int>(0, 200)(random)};
  }
  link(profile, random_edges(random, options));
  return profile;
}

}  // namespace ppplan::testing
