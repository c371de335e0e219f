#include "planner/graph/max_load.h"

#include "planner/graph/idle_items.h"
#include "planner/graph/max_load_search.h"
#include "reports/documents/error.h"
#include "reports/documents/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace ppplan::planner {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Of a node's output, once.
double transfer_s(const GraphNode& node, const MaxLoadOptions& options) {
  if (node.next.empty()) return 0.0;
  if (node.transfer) return node.transfer->count();
  if (options.bandwidth) return (node.output / *options.bandwidth).count();
  throw Error(Failure::kBadInput,
              fmt::format("node {}: the graph states the bytes of transfers, not their time",
                          excerpt(node.name)),
              "give the bandwidth between devices: --bandwidth 1e9");
}

/// What the source states as a whole, or else parameters and output.
Bytes memory_of(const GraphNode& node) {
  return node.transfer ? node.memory : node.parameters + node.output;
}

/// One item a node.
ItemGraph node_graph(const GraphProfile& profile, const MaxLoadOptions& options) {
  ItemGraph graph;
  for (std::size_t index = 0; index < profile.nodes.size(); ++index) {
    const GraphNode& node = profile.nodes[index];
    graph.items.push_back({.time = (node.forward + node.backward).count(),
                           .cpu_time = node.cpu.value_or(Seconds(0)).count(),
                           .bytes = static_cast<double>(memory_of(node).count),
                           .accelerator = node.accelerator,
                           .cpu = node.cpu.has_value(),
                           .nodes = {static_cast<int>(index)}});
    if (!node.next.empty()) {
      graph.tensors.push_back({static_cast<int>(index), transfer_s(node, options), node.next});
    }
  }
  return graph;
}

/// By node: its colour class, as a number from 0; nodes without one are classes of their own.
Groups color_classes(const GraphProfile& profile) {
  Groups classes;
  std::map<std::int64_t, int> numbers;
  for (const GraphNode& node : profile.nodes) {
    if (!node.color_class) {
      classes.of_item.push_back(classes.count++);
      continue;
    }
    const auto [number, fresh] = numbers.emplace(*node.color_class, classes.count);
    if (fresh) ++classes.count;
    classes.of_item.push_back(number->second);
  }
  return classes;
}

/// Which nodes must not come in an earlier stage than others.
Successors precedences(const GraphProfile& profile, const Groups& classes) {
  std::vector<bool> has_forward(at(classes.count), false);
  for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
    if (!profile.nodes[node].backward_pass) has_forward[at(classes.of_item[node])] = true;
  }
  Successors successors(profile.nodes.size());
  for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
    const bool tied = has_forward[at(classes.of_item[node])];
    for (const int next : profile.nodes[node].next) {
      if (!profile.nodes[at(next)].backward_pass) {
        if (profile.nodes[node].backward_pass) {
          throw Error(Failure::kBadInput,
                      fmt::format("expected no edge from the backward pass to the forward pass, "
                                  "found {} -> {}",
                                  excerpt(profile.nodes[node].name),
                                  excerpt(profile.nodes[at(next)].name)));
        }
        successors[node].push_back(next);
      } else if (profile.nodes[node].backward_pass &&
                 !(tied && has_forward[at(classes.of_item[at(next)])])) {
        successors[at(next)].push_back(static_cast<int>(node));
      }
    }
  }
  return successors;
}

/// What has to stay together, as items.
ItemGraph item_graph(const GraphProfile& profile, const MaxLoadOptions& options) {
  ItemGraph graph = node_graph(profile, options);
  const Groups classes = color_classes(profile);
  graph.successors = precedences(profile, classes);
  Successors between_classes(at(classes.count));
  for (std::size_t node = 0; node < graph.successors.size(); ++node) {
    for (const int next : graph.successors[node]) {
      between_classes[at(classes.of_item[node])].push_back(classes.of_item[at(next)]);
    }
  }
  const Groups circles = join_circles(between_classes);
  std::vector<int> group;
  for (const int color : classes.of_item) group.push_back(circles.of_item[at(color)]);
  return contract(graph, group, circles.count);
}

/// The largest load of a cut cannot be below what the slowest item takes, nor below the time that
/// leaves the accelerators more than they can do.
double compute_bound(const ItemGraph& graph, const MaxLoadLimits& limits) {
  double total = 0.0;
  double slowest = 0.0;
  for (const Item& item : graph.items) {
    total += item.time;
    const double own = item.accelerator && limits.accelerators > 0 ? item.time : kUnreached;
    slowest =
        std::max(slowest, std::min(own, item.cpu && limits.cpus > 0 ? item.cpu_time : kUnreached));
  }
  double below = slowest;
  double above = std::max(total, slowest);
  constexpr int kHalvings = 60;
  for (int halving = 0; halving < kHalvings && std::isfinite(above); ++halving) {
    const double middle = below + (above - below) / 2.0;
    const bool enough =
        limits.accelerators * middle + cpu_relief(graph.items, limits.cpus, middle) >=
        total * (1.0 - kRounding);
    (enough ? above : below) = middle;
  }
  return below;
}

/// Where more accelerators are there than a search can easily count.
constexpr int kCounted = 64;

/// The best cut of a graph, and what no cut is below.
struct BoundedSearch {
  CutSearch search;
  double lower_bound = 0.0;
};

int accelerators_used(const CutSearch& search, const MaxLoadStates& states) {
  int used = 0;
  for (const NodeStage& stage : search.stages) {
    const Segment& segment = stage.segment;
    used += states.cpus(segment.state_after) == states.cpus(segment.state_before) ? 1 : 0;
  }
  return used;
}

BoundedSearch search_counted(const ItemGraph& graph, const MaxLoadLimits& limits,
                             const SearchLimits& effort) {
  const auto make_rule = [&](const ItemGraph& searched, const Lattice& lattice) {
    return MaxLoadSearch(searched, lattice, limits);
  };
  const double bound = compute_bound(graph, limits);
  CutSearcher searcher(make_rule, MaxLoadStates(limits).count, effort);
  BoundedSearch found{searcher.search(graph, bound), bound};
  if (found.search.exact) found.lower_bound = found.search.value;
  return found;
}

/// Where transfers cost, many devices are too many: the best cut without counting them is the
/// answer when it needs no more than there are, and else a bound.
BoundedSearch search_all(const ItemGraph& graph, const MaxLoadLimits& limits,
                         const SearchLimits& effort) {
  if (limits.accelerators <= kCounted) return search_counted(graph, limits, effort);
  MaxLoadLimits uncounted = limits;
  uncounted.accelerators = static_cast<int>(graph.items.size());
  uncounted.uncounted = true;
  BoundedSearch free = search_counted(graph, uncounted, effort);
  const int used = accelerators_used(free.search, MaxLoadStates(uncounted));
  if (used <= limits.accelerators) return free;
  BoundedSearch counted = search_counted(graph, limits, effort);
  counted.search.pair_count += free.search.pair_count;
  counted.lower_bound = std::max(counted.lower_bound, free.lower_bound);
  return counted;
}

std::string why_no_accelerator(const Item& item, const MaxLoadLimits& limits) {
  if (!item.accelerator) return "an accelerator cannot run it, and no CPU is there";
  if (limits.accelerators == 0) return "there is no accelerator, and no CPU can run it";
  return fmt::format("it needs {}, an accelerator has {}",
                     ppplan::human(Bytes{std::llround(item.bytes)}),
                     ppplan::human(Bytes{std::llround(limits.memory_bytes)}));
}

/// Precondition: no cut fits.
std::string why_none(const GraphProfile& profile, const ItemGraph& graph,
                     const MaxLoadLimits& limits) {
  double total = 0.0;
  for (const Item& item : graph.items) {
    total += item.bytes;
    const bool accelerator =
        item.accelerator && item.bytes <= limits.memory_bytes && limits.accelerators > 0;
    if (accelerator || (item.cpu && limits.cpus > 0)) continue;
    const std::size_t others = item.nodes.size() - 1;
    return fmt::format(
        "no device can take node {}{}: {}", excerpt(profile.nodes[at(item.nodes.front())].name),
        others == 0 ? std::string() : fmt::format(" with the {} that must be beside it", others),
        why_no_accelerator(item, limits));
  }
  return fmt::format("no contiguous cut fits {} accelerators and {} CPUs: the nodes need {} in all",
                     limits.accelerators, limits.cpus, ppplan::human(Bytes{std::llround(total)}));
}

}  // namespace

GraphAnswer cut_max_load(const GraphProfile& profile, const MaxLoadOptions& options) {
  const ItemGraph whole = item_graph(profile, options);
  const auto item_count = static_cast<int>(whole.items.size());
  MaxLoadLimits limits{.accelerators = std::min(options.accelerators, item_count),
                       .cpus = std::min(options.cpus, item_count)};
  if (options.memory) limits.memory_bytes = static_cast<double>(options.memory->count);
  double total_bytes = 0.0;
  for (const Item& item : whole.items) total_bytes += item.bytes;
  const ItemGraph graph = without_idle_leaves(whole, total_bytes > limits.memory_bytes);
  const auto [found, lower_bound] = search_all(graph, limits, options.limits);
  GraphAnswer answer{
      .exact = found.exact, .ideal_count = found.ideal_count, .pair_count = found.pair_count};
  if (found.stages.empty()) {
    answer.why_none = found.exact ? why_none(profile, graph, limits) : kNoneFound;
    return answer;
  }
  const MaxLoadStates states(limits);
  for (const NodeStage& stage : found.stages) {
    const bool on_cpu =
        states.cpus(stage.segment.state_after) != states.cpus(stage.segment.state_before);
    answer.stages.push_back({.nodes = stage.nodes, .on_cpu = on_cpu});
  }
  weigh_max_load(profile, options, answer.stages);
  for (const GraphStage& stage : answer.stages) {
    answer.bottleneck = std::max(answer.bottleneck, stage.load);
  }
  answer.lower_bound =
      found.exact ? answer.bottleneck : std::min(answer.bottleneck, Seconds(lower_bound));
  return answer;
}

void weigh_max_load(const GraphProfile& profile, const MaxLoadOptions& options,
                    std::vector<GraphStage>& stages) {
  std::vector<std::size_t> stage_of(profile.nodes.size());
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (const int node : stages[stage].nodes) stage_of[at(node)] = stage;
  }
  for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
    const GraphNode& costs = profile.nodes[node];
    GraphStage& home = stages[stage_of[node]];
    home.compute += home.on_cpu ? costs.cpu.value_or(Seconds(0)) : costs.forward + costs.backward;
    home.memory += memory_of(costs);
    std::set<std::size_t> readers;
    for (const int next : costs.next) readers.insert(stage_of[at(next)]);
    readers.erase(stage_of[node]);
    const Seconds transfer{transfer_s(costs, options)};
    for (const std::size_t reader : readers) stages[reader].receive += transfer;
    if (!readers.empty()) home.send += transfer;
  }
  for (GraphStage& stage : stages) {
    stage.load = stage.on_cpu ? stage.compute : stage.compute + stage.receive + stage.send;
  }
}

}  // namespace ppplan::planner
