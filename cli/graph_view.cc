#include "cli/graph_view.h"

#include "reports/documents/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace ppplan::cli {
namespace {

using planner::GraphStage;

const std::string& name_of(const GraphView& view, int node) {
  return view.profile.nodes[static_cast<std::size_t>(node)].name;
}

/// By node: its place in a topological order.
std::vector<std::size_t> places(const std::vector<GraphNode>& nodes) {
  std::vector<int> missing(nodes.size(), 0);
  for (const GraphNode& node : nodes) {
    for (const int next : node.next) ++missing[static_cast<std::size_t>(next)];
  }
  std::vector<std::size_t> ready;
  for (std::size_t node = nodes.size(); node-- > 0;) {
    if (missing[node] == 0) ready.push_back(node);
  }
  std::vector<std::size_t> places(nodes.size(), 0);
  for (std::size_t place = 0; !ready.empty(); ++place) {
    const std::size_t node = ready.back();
    ready.pop_back();
    places[node] = place;
    for (const int next : nodes[node].next) {
      if (--missing[static_cast<std::size_t>(next)] == 0) {
        ready.push_back(static_cast<std::size_t>(next));
      }
    }
  }
  return places;
}

/// The part of a stage's load that is largest, or that is all of it.
const char* binding_part(const GraphStage& stage) {
  const Seconds own = stage.compute + stage.reduction;
  if (stage.receive > own && stage.receive >= stage.send) return "receiving";
  if (stage.send > own && stage.send >= stage.receive) return "sending";
  return stage.reduction > stage.compute ? "reduction" : "compute";
}

bool binds(const GraphView& view, const GraphStage& stage) {
  return stage.load >= view.answer.bottleneck;
}

std::string devices_in_words(const GraphStage& stage) {
  if (stage.on_cpu) return "CPU";
  if (stage.machines == 1) return std::to_string(stage.devices);
  return fmt::format("{} x {}", stage.devices, stage.machines);
}

double gap(const GraphView& view) {
  const Seconds bound = view.answer.lower_bound;
  return bound > Seconds(0) ? view.answer.bottleneck / bound - 1.0 : 0.0;
}

std::string certainty(const GraphView& view) {
  const planner::GraphAnswer& answer = view.answer;
  if (answer.exact) {
    return fmt::format("no contiguous cut is better: {} ideals, {} nested pairs, {}",
                       answer.ideal_count, answer.pair_count, ppplan::human(view.search_time));
  }
  const std::string why =
      answer.ideal_count == 0
          ? "the graph has too many ideals to search them all, and was cut as a chain"
          : fmt::format(
                "{} ideals are too many for this many devices or pairs, and the graph was "
                "cut as a chain",
                answer.ideal_count);
  return fmt::format(
      "at most {:.1f} % above the best contiguous cut ({:.6f} ms is a lower bound): "
      "{}; {}",
      100.0 * gap(view), 1e3 * answer.lower_bound.count(), why, ppplan::human(view.search_time));
}

}  // namespace

std::string graph_text(const GraphView& view, const render::TableOptions& options) {
  constexpr std::size_t kMostRows = 32;
  const std::vector<GraphStage>& stages = view.answer.stages;
  render::Table table({{"stage"},
                       {"devices"},
                       {"nodes"},
                       {"from", render::Align::kLeft, render::Fit::kShorten},
                       {"to", render::Align::kLeft, render::Fit::kShorten},
                       {"compute"},
                       {"reduction"},
                       {"receive"},
                       {"send"},
                       {"load"},
                       {"memory"},
                       {"binds", render::Align::kLeft}});
  const std::vector<std::size_t> place = places(view.profile.nodes);
  const auto earlier = [&](int a, int b) {
    return place[static_cast<std::size_t>(a)] < place[static_cast<std::size_t>(b)];
  };
  for (std::size_t index = 0; index < std::min(stages.size(), kMostRows); ++index) {
    const GraphStage& stage = stages[index];
    const auto [from, to] = std::minmax_element(stage.nodes.begin(), stage.nodes.end(), earlier);
    table.row({std::to_string(index), devices_in_words(stage), std::to_string(stage.nodes.size()),
               name_of(view, *from), name_of(view, *to), ppplan::human(stage.compute),
               ppplan::human(stage.reduction), ppplan::human(stage.receive),
               ppplan::human(stage.send), ppplan::human(stage.load), ppplan::human(stage.memory),
               binds(view, stage) ? binding_part(stage) : ""});
  }
  std::string text =
      fmt::format("{} nodes on {}\nbottleneck {:.6f} ms a mini-batch ({:.9g} s)\n{}\n\n",
                  view.profile.nodes.size(), view.machine, 1e3 * view.answer.bottleneck.count(),
                  view.answer.bottleneck.count(), certainty(view));
  text += table.text(options);
  if (stages.size() > kMostRows) {
    text += fmt::format("... {} more stages (--json has all)\n", stages.size() - kMostRows);
  }
  return text;
}

std::string graph_json(const GraphView& view) {
  const planner::GraphAnswer& answer = view.answer;
  JsonWriter json;
  json.begin_object()
      .member("rules", view.rules == Rules::kMaxLoad ? "max-load" : "pipedream")
      .member("bottleneck_s", answer.bottleneck)
      .member("lower_bound_s", answer.lower_bound)
      .member("gap", gap(view))
      .member("exact", answer.exact)
      .member("ideals", answer.ideal_count)
      .member("nested_pairs", answer.pair_count)
      .member("search_s", view.search_time);
  json.key("stages").begin_array();
  for (const GraphStage& stage : answer.stages) {
    std::vector<std::string> names;
    for (const int node : stage.nodes) names.push_back(name_of(view, node));
    json.begin_object()
        .member("device", stage.on_cpu ? "cpu" : "accelerator")
        .member("machine_group", stage.group)
        .member("machines", stage.machines)
        .member("devices", stage.devices)
        .member("compute_s", stage.compute)
        .member("reduction_s", stage.reduction)
        .member("receive_s", stage.receive)
        .member("send_s", stage.send)
        .member("load_s", stage.load)
        .member("memory_bytes", stage.memory)
        .member("binds", binds(view, stage))
        .member("binding_part", binding_part(stage))
        .member("nodes", names)
        .end_object();
  }
  return json.end_array().end_object().take();
}

}  // namespace ppplan::cli
