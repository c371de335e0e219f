#include "planner/graph/pipedream.h"

#include "planner/graph/idle_items.h"
#include "planner/graph/pipedream_search.h"
#include "reports/documents/error.h"
#include "reports/documents/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

namespace ppplan::planner {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// By node: whether it counts. Its optimizer drops inputs, which it cannot place, and sinks that
/// only name a part of a tuple.
std::vector<bool> counted_nodes(const GraphProfile& profile) {
  std::vector<bool> is_source(profile.nodes.size(), true);
  for (const GraphNode& node : profile.nodes) {
    for (const int next : node.next) is_source[at(next)] = false;
  }
  std::vector<bool> counted;
  for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
    const std::string& what = profile.nodes[node].description;
    const bool input = is_source[node] && what.starts_with("Input");
    const bool unread = profile.nodes[node].next.empty() && what.starts_with("__getitem__");
    counted.push_back(!input && !unread);
  }
  return counted;
}

void check(const GraphProfile& profile, const std::vector<bool>& counted) {
  for (const GraphNode& node : profile.nodes) {
    if (!node.transfer && !node.color_class && !node.backward_pass) continue;
    throw Error(Failure::kBadInput,
                fmt::format("node {}: the rules of pipedream need both passes and the bytes of "
                            "outputs and parameters in one node",
                            excerpt(node.name)),
                "use --rules max-load");
  }
  if (std::find(counted.begin(), counted.end(), true) == counted.end()) {
    throw Error(Failure::kBadInput, "the graph holds nothing but inputs");
  }
}

/// One item a counted node.
ItemGraph node_graph(const GraphProfile& profile, const std::vector<bool>& counted) {
  std::vector<int> item_of(profile.nodes.size(), -1);
  int item_count = 0;
  for (std::size_t node = 0; node < item_of.size(); ++node) {
    if (counted[node]) item_of[node] = item_count++;
  }
  ItemGraph graph;
  for (std::size_t index = 0; index < item_of.size(); ++index) {
    if (!counted[index]) continue;
    const GraphNode& node = profile.nodes[index];
    const auto output = static_cast<double>(node.output.count);
    const auto parameters = static_cast<double>(node.parameters.count);
    graph.items.push_back({.time = (node.forward + node.backward).count(),
                           .bytes = output + parameters,
                           .parameters = parameters,
                           .nodes = {static_cast<int>(index)}});
    std::vector<int>& readers = graph.successors.emplace_back();
    for (const int next : node.next) {
      if (counted[at(next)]) readers.push_back(item_of[at(next)]);
    }
    if (!readers.empty()) graph.tensors.push_back({item_of[index], output, readers});
  }
  std::vector<int> each(at(item_count));
  for (int item = 0; item < item_count; ++item) each[at(item)] = item;
  return contract(graph, each, item_count);
}

std::vector<ReplicationLevel> replication_levels(const PipeDreamOptions& options) {
  std::vector<ReplicationLevel> levels;
  int devices = 1;
  for (const PipeDreamLevel& level : options.levels) {
    ReplicationLevel& made = levels.emplace_back();
    made.units = level.units;
    made.bytes_per_s = level.bandwidth.value;
    made.devices_per_unit = devices;
    made.replicates = options.replication == Replication::kAllowed;
    if (options.memory) made.memory_bytes = static_cast<double>(options.memory->count);
    devices *= level.units;
  }
  return levels;
}

/// All devices busy all the time, or the slowest item spread as far as it helps.
double compute_bound(const ItemGraph& graph, const std::vector<ReplicationLevel>& levels) {
  double total = 0.0;
  double slowest = 0.0;
  int devices = 1;
  for (const ReplicationLevel& level : levels) devices *= level.units;
  const auto best_replicas = [](const ReplicationLevel& level, double time, double parameters) {
    double best = time;
    for (int replicas = 2; level.replicates && replicas <= level.units; ++replicas) {
      best = std::min(best, replicated_time(level, time, parameters, replicas));
    }
    return best;
  };
  for (const Item& item : graph.items) {
    total += item.time;
    double time = item.time;
    for (const ReplicationLevel& level : levels) {
      time = best_replicas(level, time, item.parameters);
    }
    slowest = std::max(slowest, time);
  }
  return std::max(total / devices, slowest);
}

/// Nodes that do not count go where they cost nothing: beside what they read, else to the start.
void place_uncounted(const GraphProfile& profile, const std::vector<bool>& counted,
                     std::vector<GraphStage>& stages) {
  std::vector<std::size_t> stage_of(profile.nodes.size(), 0);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (const int node : stages[stage].nodes) stage_of[at(node)] = stage;
  }
  for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
    for (const int next : profile.nodes[node].next) {
      if (!counted[at(next)]) stage_of[at(next)] = std::max(stage_of[at(next)], stage_of[node]);
    }
  }
  for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
    if (!counted[node]) stages[stage_of[node]].nodes.push_back(static_cast<int>(node));
  }
  for (GraphStage& stage : stages) std::sort(stage.nodes.begin(), stage.nodes.end());
}

struct StageSums {
  double time = 0.0;
  double parameters = 0.0;
  double bytes = 0.0;
  double leaving = 0.0;  ///< over the boundary behind it
};

std::vector<StageSums> sums_by_stage(const GraphProfile& profile, const std::vector<bool>& counted,
                                     const std::vector<GraphStage>& stages) {
  std::vector<StageSums> sums(stages.size());
  std::vector<std::size_t> stage_of(profile.nodes.size(), 0);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (const int node : stages[stage].nodes) stage_of[at(node)] = stage;
  }
  for (std::size_t index = 0; index < profile.nodes.size(); ++index) {
    if (!counted[index]) continue;
    const GraphNode& node = profile.nodes[index];
    StageSums& home = sums[stage_of[index]];
    home.time += (node.forward + node.backward).count();
    home.parameters += static_cast<double>(node.parameters.count);
    home.bytes += static_cast<double>((node.parameters + node.output).count);
    std::size_t last = stage_of[index];
    for (const int next : node.next) {
      if (counted[at(next)]) last = std::max(last, stage_of[at(next)]);
    }
    for (std::size_t stage = stage_of[index]; stage < last; ++stage) {
      sums[stage].leaving += static_cast<double>(node.output.count);
    }
  }
  return sums;
}

Bytes copies(int later, int replicas, double bytes) {
  return {std::llround(copies_in_flight(later, replicas) * bytes)};
}

Seconds transfer(const ReplicationLevel& level, double bytes, int replicas) {
  return Seconds(2.0 * bytes / (level.bytes_per_s * replicas));
}

/// A pipeline of stages on the devices of one machine.
void weigh_inside(const ReplicationLevel& level, std::span<const StageSums> sums,
                  std::span<GraphStage> stages) {
  int later = 0;
  for (const GraphStage& stage : stages) later += stage.devices;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    GraphStage& weighed = stages[stage];
    const int replicas = weighed.devices;
    const double own = replicated_time(level, sums[stage].time, sums[stage].parameters, replicas);
    weighed.compute = Seconds(sums[stage].time / replicas);
    weighed.reduction = Seconds(own) - weighed.compute;
    weighed.receive = transfer(level, stage == 0 ? 0.0 : sums[stage - 1].leaving, replicas);
    weighed.send = transfer(level, sums[stage].leaving, replicas);
    weighed.load = std::max({Seconds(own), weighed.receive, weighed.send});
    later -= replicas;
    weighed.memory = copies(later, replicas, sums[stage].bytes);
  }
}

/// The machines around such a pipeline, `later` ones behind them: each takes its part of the
/// mini-batches, then they reduce.
void weigh_across(const ReplicationLevel& level, std::span<const StageSums> sums, double entering,
                  int later, std::span<GraphStage> stages) {
  const int machines = stages.front().machines;
  StageSums whole;
  for (const StageSums& part : sums) {
    whole.parameters += part.parameters;
    whole.bytes += part.bytes;
  }
  const Seconds shared{replicated_time(level, 0.0, whole.parameters, machines)};
  const Bytes memory = copies(later, machines, whole.bytes);
  GraphStage& last = stages.back();
  last.send = Seconds(0);  // inside the machine; the last stage's goes across
  last.load = std::max(last.compute + last.reduction, last.receive);
  for (GraphStage& stage : stages) {
    stage.compute /= machines;
    stage.reduction = stage.reduction / machines + shared;
    stage.receive /= machines;
    stage.send /= machines;
    stage.load = stage.load / machines + shared;
    stage.memory = std::max(stage.memory, memory);
  }
  GraphStage& head = stages.front();
  head.receive = transfer(level, entering, machines);
  head.load = std::max(head.load, head.receive);
  last.send = transfer(level, sums.back().leaving, machines);
  last.load = std::max(last.load, last.send);
}

}  // namespace

GraphAnswer cut_pipedream(const GraphProfile& profile, const PipeDreamOptions& options) {
  const std::vector<bool> counted = counted_nodes(profile);
  check(profile, counted);
  const ItemGraph graph =
      without_idle_leaves(node_graph(profile, counted), options.memory.has_value());
  const std::vector<ReplicationLevel> levels = replication_levels(options);
  std::size_t states = 0;
  for (const ReplicationLevel& level : levels) states += at(level.units) + 3;
  const double lower_bound = compute_bound(graph, levels);
  const auto make_rule = [&](const ItemGraph& searched, const Lattice& lattice) {
    return PipeDreamSearch(searched, lattice, levels);
  };
  const CutSearch found = CutSearcher(make_rule, states, options.limits).search(graph, lower_bound);
  GraphAnswer answer{
      .exact = found.exact, .ideal_count = found.ideal_count, .pair_count = found.pair_count};
  if (found.stages.empty()) {
    answer.why_none = found.exact
                          ? "no pipeline keeps its copies in flight within the memory of a device"
                          : kNoneFound;
    return answer;
  }
  for (const NodeStage& stage : found.stages) {
    const Segment& segment = stage.segment;
    answer.stages.push_back(
        {.nodes = stage.nodes,
         .group = segment.group,
         .machines = segment.machines,
         .devices = static_cast<int>(segment.state_after - segment.state_before)});
  }
  place_uncounted(profile, counted, answer.stages);
  weigh_pipedream(profile, options, answer.stages);
  answer.bottleneck = pipedream_bottleneck(answer.stages);
  answer.lower_bound =
      found.exact ? answer.bottleneck : std::min(answer.bottleneck, Seconds(lower_bound));
  return answer;
}

void weigh_pipedream(const GraphProfile& profile, const PipeDreamOptions& options,
                     std::vector<GraphStage>& stages) {
  const std::vector<StageSums> sums = sums_by_stage(profile, counted_nodes(profile), stages);
  const std::vector<ReplicationLevel> levels = replication_levels(options);
  if (levels.size() == 1) {
    weigh_inside(levels.front(), sums, stages);
    return;
  }
  int later = 0;
  for (std::size_t first = 0, end = stages.size(); end > 0; end = first) {
    first = end - 1;
    while (first > 0 && stages[first - 1].group == stages[first].group) --first;
    const std::span<GraphStage> group(stages.data() + first, end - first);
    const std::span<const StageSums> of_group(sums.data() + first, end - first);
    weigh_inside(levels.front(), of_group, group);
    weigh_across(levels.back(), of_group, first == 0 ? 0.0 : sums[first - 1].leaving, later, group);
    later += group.front().machines;
  }
}

Seconds pipedream_bottleneck(const std::vector<GraphStage>& stages) {
  Seconds bottleneck{0};
  for (const GraphStage& stage : stages) bottleneck = std::max(bottleneck, stage.load);
  return bottleneck;
}

}  // namespace ppplan::planner
