#include "reports/render/plan_view.h"

#include "reports/documents/json_writer.h"
#include "reports/render/batching_view.h"
#include "reports/render/layers_in_words.h"
#include "reports/render/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <sstream>

namespace ppplan::render {
namespace {

constexpr std::size_t kMostRows = 32;

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100.0 * share);
}

std::string plural(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// "4 micro-batches of 2", "one micro-batch of 8", "3 micro-batches (2 of 3, one of 2)".
std::string batches_in_words(const Plan& plan) {
  const std::size_t count = plan.micro_batches.size();
  const int last = plan.micro_batches.back();
  if (count == 1) return fmt::format("one micro-batch of {}", last);
  if (last == plan.micro_batch) return fmt::format("{} micro-batches of {}", count, last);
  return fmt::format("{} micro-batches ({} of {}, one of {})", count, count - 1, plan.micro_batch,
                     last);
}

std::string schedule_in_words(const Plan& plan) {
  return plan.actions.empty() ? plan.schedule : plan.schedule + " schedule";
}

/// Breaks a sentence at blanks into lines of at most `width` columns.
std::string wrapped(const std::string& sentence, std::size_t width) {
  std::istringstream words(sentence);
  std::string text;
  std::size_t column = 0;
  for (std::string word; words >> word; column += display_width(word)) {
    if (column > 0 && column + 1 + display_width(word) > width) {
      text += '\n';
      column = 0;
    } else if (column > 0) {
      text += ' ';
      ++column;
    }
    text += word;
  }
  return text + '\n';
}

/// "4 stages", "8 stages on 4 ranks".
std::string stages_in_words(const Plan& plan) {
  const std::string stages = plural(plan.stages.size(), "stage");
  if (plan.stages.size() == plan.ranks.size()) return stages;
  return stages + " on " + plural(plan.ranks.size(), "rank");
}

std::string headline(const Plan& plan) {
  const double gap =
      plan.lower_bound > Seconds(0) ? plan.predicted.step / plan.lower_bound - 1.0 : 0.0;
  std::string text =
      fmt::format("{}: {}, {}, {}, {} tokens each\n", plan.model.name, stages_in_words(plan),
                  schedule_in_words(plan), batches_in_words(plan), plan.constraints.sequence);
  text += fmt::format("step {}, {} tokens/s, bubble {}\n", human(plan.predicted.step),
                      human_count(plan.predicted.tokens_per_s), percent(plan.predicted.bubble));
  text += fmt::format("no split, size or schedule can be faster than {}: {} below\n",
                      human(plan.lower_bound), percent(gap / (1.0 + gap)));
  return text;
}

std::string more_rows(std::size_t count, const std::string& noun) {
  return count > kMostRows ? fmt::format("… {} more {}\n", count - kMostRows, noun) : "";
}

std::string stages_text(const Plan& plan, const TableOptions& options) {
  const bool folded = plan.stages.size() != plan.ranks.size();
  Table table({{folded ? "stage on rank" : "stage"},
               {"layers", Align::kLeft, Fit::kShorten},
               {"parameters"},
               {"forward"},
               {"backward"},
               {"optimizer"},
               {"computing"}},
              "Split");
  for (std::size_t at = 0; at < std::min(plan.stages.size(), kMostRows); ++at) {
    const PlanStage& stage = plan.stages[at];
    const PlanRank& rank = plan.ranks[static_cast<std::size_t>(stage.rank)];
    table.row({folded ? fmt::format("{} on {}", at, stage.rank) : std::to_string(at),
               layers_in_words(plan.model, stage.first_layer, stage.layer_count),
               human_count(static_cast<double>(
                   parameter_count(plan.model, stage.first_layer, stage.layer_count))),
               human(stage.forward), human(stage.backward), human(rank.optimizer),
               percent(rank.busy / plan.predicted.step)});
  }
  return table.text(options) + more_rows(plan.stages.size(), "stages") +
         (folded ? "forward and backward: of one full micro-batch; the rest: of the whole rank\n"
                 : "forward and backward: of one full micro-batch; computing: share of the step\n");
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
  for (std::size_t at = 0; at < std::min(plan.ranks.size(), kMostRows); ++at) {
    const PlanRank& rank = plan.ranks[at];
    const MemoryBreakdown& memory = rank.memory;
    table.row({std::to_string(at), human(memory.total()), human(view.allowed[at]),
               human(memory.parameters), human(memory.gradients), human(memory.optimizer_state),
               human(memory.activations), std::to_string(rank.in_flight),
               human(memory.transient + memory.buffers)});
  }
  return table.text(options) + more_rows(plan.ranks.size(), "ranks");
}

/// "15 16"; "8 each" for many equal ones.
std::string counts_in_words(const std::vector<int>& counts) {
  const bool equal = std::ranges::adjacent_find(counts, std::not_equal_to<>()) == counts.end();
  if (equal && counts.size() > 2) return fmt::format("{} each", counts.front());
  std::string words;
  for (const int count : counts) words += (words.empty() ? "" : " ") + std::to_string(count);
  return words;
}

std::string losers_text(const Plan& plan, const TableOptions& options) {
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
        .member("output_bytes", stage.output)
        .end_object();
  }
  json.end_array();
}

void write_losers(JsonWriter& json, const Plan& plan) {
  json.key("runners_up").begin_array();
  for (const RunnerUp& loser : plan.runners_up) {
    json.begin_object()
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
  std::string text = headline(plan) + wrapped(plan.verdict.sentence, options.width);
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
  json.begin_object()
      .member("model", plan.model.name)
      .member("schedule", plan.schedule)
      .member("global_batch", plan.constraints.global_batch)
      .member("sequence", plan.constraints.sequence)
      .member("micro_batches", plan.micro_batches)
      .member("step_s", plan.predicted.step)
      .member("tokens_per_s", plan.predicted.tokens_per_s)
      .member("bubble", plan.predicted.bubble)
      .member("lower_bound_s", plan.lower_bound);
  write_stages(json, plan);
  write_ranks(json, view);
  write_losers(json, plan);
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
