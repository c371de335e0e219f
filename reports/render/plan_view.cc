#include "reports/render/plan_view.h"

#include "reports/documents/described.h"
#include "reports/documents/json_writer.h"
#include "reports/render/batching_view.h"
#include "reports/render/layers_in_words.h"
#include "reports/render/plan_in_words.h"
#include "reports/render/timeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ppplan::render {
namespace {

constexpr std::size_t kMostRows = 32;
/// Of more stages those alike share a row.
constexpr std::size_t kManyStages = 16;

std::string schedule_in_words(const Plan& plan) {
  return plan.actions.empty() ? plan.schedule : plan.schedule + " schedule";
}

bool recomputes(const Plan& plan) {
  return std::ranges::any_of(
      plan.stages, [](const PlanStage& stage) { return !recompute_in_words(stage).empty(); });
}

bool has_layout(const Plan& plan) {
  return plan.available_devices > 0 || plan.layout != Layout{};
}

/// What stands where, in words: one line for a single pipeline, more for a layout.
std::string shape_text(const Plan& plan, std::size_t width) {
  const std::string layout =
      layout_in_words(plan.layout, static_cast<int>(plan.ranks.size()), plan.stages.size());
  const std::string work = fmt::format("{}, {}, {} tokens each", schedule_in_words(plan),
                                       batches_in_words(plan), plan.constraints.sequence);
  if (!has_layout(plan)) {
    return fmt::format("{}: {}, {}\n", plan.model.name, layout, work);
  }
  const std::string devices = devices_in_words(plan);
  return wrapped(fmt::format("{}: {}{}{}", plan.model.name, layout, devices.empty() ? "" : ", ",
                             devices),
                 width) +
         wrapped(work, width);
}

/// " (2.75 K a device, MFU 41.2 %)"; nothing where the devices' peak is not known.
std::string utilization_in_words(const Prediction& predicted) {
  if (predicted.mfu <= 0.0) return "";
  return fmt::format(" ({} a device, MFU {})", human_count(predicted.tokens_per_s_per_device),
                     percent(predicted.mfu));
}

std::string headline(const Plan& plan, std::size_t width) {
  const double gap =
      plan.lower_bound > Seconds(0) ? plan.predicted.step / plan.lower_bound - 1.0 : 0.0;
  std::string text = shape_text(plan, width);
  text += fmt::format("step {}, {} tokens/s{}, bubble {}\n", human(plan.predicted.step),
                      human_count(plan.predicted.tokens_per_s),
                      utilization_in_words(plan.predicted), percent(plan.predicted.bubble));
  text += fmt::format("no split, size or schedule can be faster than {}: {} below\n",
                      human(plan.lower_bound), percent(gap / (1.0 + gap)));
  if (plan.export_only) {
    text += wrapped(
        "export only, for a trainer: 'ppplan run' does not do " + beyond_the_executor(plan), width);
  }
  return text;
}

/// Of many rows the first and the last are shown.
template <typename Add>
void add_rows(Table& table, std::size_t count, const Add& add) {
  const std::size_t first = count > kMostRows ? kMostRows / 2 : count;
  const std::size_t last = count > kMostRows ? count - kMostRows / 2 + 1 : count;
  for (std::size_t at = 0; at < first; ++at) add(at);
  if (last > first) table.row({"…"});
  for (std::size_t at = last; at < count; ++at) add(at);
}

std::string range_in_words(std::size_t first, std::size_t last) {
  return first == last ? std::to_string(first) : fmt::format("{}–{}", first, last);
}

/// Stages one after the other that are alike but for their layers.
struct StageRun {
  std::size_t first = 0;
  std::size_t last = 0;            ///< the last of them
  std::vector<std::string> cells;  ///< that follow the layers
};

std::vector<std::string> stage_cells(const Plan& plan, const PlanStage& stage) {
  const PlanRank& rank = plan.ranks[static_cast<std::size_t>(stage.rank)];
  const std::int64_t parameters = parameter_count(plan.model, stage.first_layer, stage.layer_count);
  std::vector<std::string> cells{human_count(static_cast<double>(parameters)), human(stage.forward),
                                 human(stage.backward), human(rank.optimizer),
                                 percent(rank.busy / plan.predicted.step)};
  if (recomputes(plan)) cells.push_back(recompute_in_words(stage));
  return cells;
}

std::vector<StageRun> stage_runs(const Plan& plan) {
  std::vector<StageRun> runs;
  for (std::size_t at = 0; at < plan.stages.size(); ++at) {
    const PlanStage& stage = plan.stages[at];
    std::vector<std::string> cells = stage_cells(plan, stage);
    const bool goes_on = plan.stages.size() > kManyStages && at > 0 &&
                         plan.stages[at - 1].layer_count == stage.layer_count &&
                         plan.stages[at - 1].rank + 1 == stage.rank && runs.back().cells == cells;
    if (goes_on) {
      runs.back().last = at;
    } else {
      runs.push_back({.first = at, .last = at, .cells = std::move(cells)});
    }
  }
  return runs;
}

std::string stages_text(const Plan& plan, const TableOptions& options) {
  const bool folded = plan.stages.size() != plan.ranks.size();
  std::vector<Column> columns{{folded ? "stage on rank" : "stage"},
                              {"layers", Align::kLeft, Fit::kShorten},
                              {"parameters"},
                              {"forward"},
                              {"backward"},
                              {"optimizer"},
                              {"computing"}};
  if (recomputes(plan)) columns.push_back({"recompute", Align::kLeft});
  Table table(std::move(columns), "Split");
  const std::vector<StageRun> runs = stage_runs(plan);
  add_rows(table, runs.size(), [&](std::size_t at) {
    const StageRun& run = runs[at];
    const PlanStage& first = plan.stages[run.first];
    const PlanStage& last = plan.stages[run.last];
    const auto on =
        range_in_words(static_cast<std::size_t>(first.rank), static_cast<std::size_t>(last.rank));
    const std::string stages = range_in_words(run.first, run.last);
    std::vector<std::string> cells{
        folded ? fmt::format("{} on {}", stages, on) : stages,
        layers_in_words(plan.model, first.first_layer,
                        last.first_layer + last.layer_count - first.first_layer)};
    if (run.last > run.first && first.layer_count > 0) {
      cells.back() += fmt::format(", {} each", first.layer_count);
    }
    cells.insert(cells.end(), run.cells.begin(), run.cells.end());
    table.row(std::move(cells));
  });
  std::string text = table.text(options);
  text += folded ? "forward and backward: of one full micro-batch; the rest: of the whole rank\n"
                 : "forward and backward: of one full micro-batch; computing: share of the step\n";
  if (const std::string chunk = chunk_in_words(plan.recompute_chunk); !chunk.empty()) {
    text += fmt::format("{} {}\n", recomputes(plan) ? "recomputed" : "the head's loss is computed",
                        chunk);
  }
  return text;
}

std::string memory_text(const PlanView& view, const TableOptions& options) {
  const Plan& plan = *view.plan;
  Table table({{"rank"},
               {"peak"},
               {"limit"},
               {"parameters"},
               {"gradients"},
               {"optimizer"},
               {"activations"},
               {"in flight"},
               {"working"}},
              "Memory, at each rank's fullest moment");
  add_rows(table, plan.ranks.size(), [&](std::size_t at) {
    const PlanRank& rank = plan.ranks[at];
    const MemoryBreakdown& memory = rank.memory;
    table.row({std::to_string(at), human(memory.total()), human(view.allowed[at]),
               human(memory.parameters), human(memory.gradients), human(memory.optimizer_state),
               human(memory.activations), std::to_string(rank.in_flight),
               human(memory.transient + memory.buffers)});
  });
  if (plan.ranks.size() <= kMostRows) return table.text(options);
  const auto fullest = std::ranges::max_element(
      plan.ranks, {}, [](const PlanRank& rank) { return rank.memory.total(); });
  return table.text(options) + fmt::format("of all {} ranks the fullest: rank {}, {}\n",
                                           plan.ranks.size(), fullest - plan.ranks.begin(),
                                           human(fullest->memory.total()));
}

/// "optimizer whole, chunk 512": what of a loser's layout is not the plan's.
std::string differences(const Plan& plan, const RunnerUp& loser) {
  std::vector<std::string> words;
  const Layout& layout = loser.layout;
  if (layout.sharding.context != plan.layout.sharding.context) {
    words.push_back(fmt::format("context {}", layout.sharding.context));
  }
  if (layout.sharding.expert != plan.layout.sharding.expert) {
    words.push_back(fmt::format("experts over {}", layout.sharding.expert));
  }
  if (layout.data_sharding != plan.layout.data_sharding) {
    words.emplace_back(layout.data_sharding == DataSharding::kNone ? "optimizer whole"
                                                                   : "optimizer sharded");
  }
  if (layout.order != plan.layout.order && layout.data_parallel > 1) {
    words.emplace_back(layout.order == DeviceOrder::kPipelineInside ? "stages in nodes"
                                                                    : "copies in nodes");
  }
  if (loser.recompute_chunk != plan.recompute_chunk) {
    words.push_back(loser.recompute_chunk == 0
                        ? "no pieces"
                        : fmt::format("pieces of {}", loser.recompute_chunk));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Of one pipeline: where it was cut tells most.
std::string cuts_text(const Plan& plan, const TableOptions& options) {
  Table table({{"schedule", Align::kLeft},
               {"micro-batches"},
               {"stages"},
               {"layers", Align::kLeft, Fit::kShorten},
               {"step"},
               {"peak"},
               {"why not", Align::kLeft, Fit::kShorten}},
              "Runners-up");
  for (const RunnerUp& loser : plan.runners_up) {
    table.row({loser.schedule, fmt::format("{} of {}", loser.micro_batch_count, loser.micro_batch),
               std::to_string(loser.layer_counts.size()), counts_in_words(loser.layer_counts),
               human(loser.step), human(loser.peak), loser.reason});
  }
  return table.text(options);
}

/// Of many devices: the layout does.
std::string layouts_text(const Plan& plan, const TableOptions& options) {
  Table table({{"schedule", Align::kLeft},
               {"batches"},
               {"t × p × d"},
               {"stages"},
               {"step"},
               {"why not", Align::kLeft, Fit::kShorten}},
              "Runners-up");
  for (const RunnerUp& loser : plan.runners_up) {
    const std::string differs = differences(plan, loser);
    table.row({loser.schedule, fmt::format("{} of {}", loser.micro_batch_count, loser.micro_batch),
               layout_in_figures(loser.layout, loser.rank_count),
               std::to_string(loser.layer_counts.size()), human(loser.step),
               loser.reason + (differs.empty() ? "" : ", " + differs)});
  }
  return table.text(options) +
         "t × p × d: devices that share a layer × ranks of a pipeline × pipelines; batches: "
         "micro-batches\n";
}

std::string losers_text(const Plan& plan, const TableOptions& options) {
  return has_layout(plan) ? layouts_text(plan, options) : cuts_text(plan, options);
}

/// null in JSON where 0 says that nothing is known.
std::optional<double> known(double figure) {
  return figure > 0.0 ? std::optional(figure) : std::nullopt;
}

void write_ranks(JsonWriter& json, const PlanView& view) {
  const Plan& plan = *view.plan;
  json.key("ranks").begin_array();
  for (std::size_t at = 0; at < plan.ranks.size(); ++at) {
    const PlanRank& rank = plan.ranks[at];
    json.begin_object()
        .member("device", rank.device)
        .member("busy_s", rank.busy)
        .member("idle_s", rank.idle)
        .member("reduction_s", rank.reduction)
        .member("optimizer_s", rank.optimizer)
        .member("in_flight", rank.in_flight)
        .member("peak_bytes", rank.memory.total())
        .member("limit_bytes", view.allowed[at])
        .member("parameters_bytes", rank.memory.parameters)
        .member("gradients_bytes", rank.memory.gradients)
        .member("optimizer_state_bytes", rank.memory.optimizer_state)
        .member("activations_bytes", rank.memory.activations)
        .member("transient_bytes", rank.memory.transient)
        .member("buffers_bytes", rank.memory.buffers)
        .end_object();
  }
  json.end_array();
}

void write_stages(JsonWriter& json, const Plan& plan) {
  json.key("stages").begin_array();
  for (const PlanStage& stage : plan.stages) {
    json.begin_object()
        .member("rank", stage.rank)
        .member("first_layer", stage.first_layer)
        .member("layer_count", stage.layer_count)
        .member("layers", layers_in_words(plan.model, stage.first_layer, stage.layer_count))
        .member("parameters", parameter_count(plan.model, stage.first_layer, stage.layer_count))
        .member("forward_s", stage.forward)
        .member("backward_s", stage.backward)
        .member("output_bytes", stage.output);
    json.key("recompute").begin_array();
    for (const RecomputeRun& run : stage.recompute) {
      json.begin_object()
          .member("layer_count", run.layer_count)
          .member("recompute", recompute_words()[static_cast<std::size_t>(run.recompute)])
          .member("segment", run.segment)
          .end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_losers(JsonWriter& json, const Plan& plan) {
  json.key("runners_up").begin_array();
  for (const RunnerUp& loser : plan.runners_up) {
    json.begin_object();
    write_layout(json, loser.layout);
    json.member("rank_count", loser.rank_count)
        .member("recompute_chunk_size", loser.recompute_chunk)
        .member("schedule", loser.schedule)
        .member("micro_batch", loser.micro_batch)
        .member("micro_batch_count", loser.micro_batch_count)
        .member("layer_counts", loser.layer_counts)
        .member("step_s", loser.step)
        .member("peak_bytes", loser.peak)
        .member("reason", loser.reason)
        .end_object();
  }
  json.end_array();
}

}  // namespace

std::string plan_text(const PlanView& view, const TableOptions& options) {
  const Plan& plan = *view.plan;
  std::string text = headline(plan, options.width) + wrapped(plan.verdict.sentence, options.width);
  if (view.rivals.plan != nullptr && !plan.rivals.empty()) {
    text += '\n' + rivals_text(view.rivals, options);
  }
  text += '\n' + stages_text(plan, options);
  text += '\n' + timeline_text(*view.schedule, *view.timeline,
                               {.width = options.width, .style = options.style});
  text += '\n' + memory_text(view, options);
  if (!plan.runners_up.empty()) text += '\n' + losers_text(plan, options);
  if (plan.batching) text += '\n' + batching_text(*plan.batching, view.allowed, options);
  if (!view.search.empty()) text += '\n' + wrapped(view.search, options.width);
  return text;
}

std::string plan_json(const PlanView& view) {
  const Plan& plan = *view.plan;
  JsonWriter json;
  json.begin_object().member("model", plan.model.name);
  write_layout(json, plan.layout);
  json.member("device_count",
              plan.layout.device_count() * static_cast<std::int64_t>(plan.ranks.size()))
      .member("available_devices", plan.available_devices)
      .member("export_only", plan.export_only)
      .member("export_only_because", beyond_the_executor(plan))
      .member("recompute_chunk_size", plan.recompute_chunk)
      .member("schedule", plan.schedule)
      .member("global_batch", plan.constraints.global_batch)
      .member("sequence", plan.constraints.sequence)
      .member("micro_batches", plan.micro_batches)
      .member("step_s", plan.predicted.step)
      .member("tokens_per_s", plan.predicted.tokens_per_s)
      .member("tokens_per_s_per_device", plan.predicted.tokens_per_s_per_device)
      .member("mfu", known(plan.predicted.mfu))
      .member("bubble", plan.predicted.bubble)
      .member("lower_bound_s", plan.lower_bound);
  write_stages(json, plan);
  write_ranks(json, view);
  write_losers(json, plan);
  if (view.rivals.plan != nullptr) write_rivals(json.key("rivals"), view.rivals);
  if (plan.batching) write_batching(json.key("batching"), *plan.batching);
  json.key("verdict")
      .begin_object()
      .member("worth_it", plan.verdict.worth_it)
      .member("speedup", plan.verdict.speedup)
      .member("sentence", plan.verdict.sentence)
      .end_object();
  return json.member("search", view.search).end_object().take();
}

}  // namespace ppplan::render
