#include "reports/render/explain_view.h"

#include "reports/render/explanation_parts.h"
#include "reports/render/layers_in_words.h"
#include "reports/render/plan_in_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ppplan::render {
namespace {

constexpr std::size_t kMostRows = 32;
/// A relief that brings less is none.
constexpr double kWorthSaying = 0.005;

/// "+2.3 %", "−0.1 %", "the same".
std::string against(Seconds step, Seconds than) {
  const double change = 100.0 * (step / than - 1.0);
  if (change >= 0.05) return fmt::format("+{:.1f} %", change);
  return change <= -0.05 ? fmt::format("−{:.1f} %", -change) : "the same";
}

std::string lack_in_words(const MemoryLack& lack) {
  return fmt::format("rank {} needs {} of {}", lack.rank, human(lack.needed), human(lack.allowed));
}

/// "rank 3 binds: more to compute than the others: an even share would bring 12.5 %".
std::string binding_sentence(const Explanation& explanation) {
  const Relief& best = explanation.reliefs.front();
  const double gain = 1.0 - best.step / explanation.step;
  const std::string rank = fmt::format("rank {} binds", explanation.path.rank);
  if (gain < kWorthSaying) {
    return rank + " as much as any: hardly anything costs beside the layers' own work";
  }
  return fmt::format("{}: {}; without that a step would take {}, {} less", rank,
                     obstacle_in_words(best.obstacle), human(best.step), percent(gain));
}

std::string path_text(const Explanation& explanation, const TableOptions& options) {
  const CriticalPath& path = explanation.path;
  Table table({{"", Align::kLeft}, {"time"}, {"share"}},
              "The longest way through the step: each action waits for the one before");
  for (const NamedTime& part : parts_of(path)) {
    if (part.time == Seconds(0)) continue;
    table.row({part.words, human(part.time), percent(part.time / explanation.step)});
  }
  table.rule();
  table.row({"step", human(path.total()), percent(path.total() / explanation.step)});
  return table.text(options);
}

std::string parts_text(const Explanation& explanation, const TableOptions& options) {
  Table table({{"", Align::kLeft}, {"time"}, {"share"}}, "Where the time goes, mean of all ranks");
  for (const NamedTime& part : parts_of(explanation.parts)) {
    if (part.time == Seconds(0)) continue;
    table.row({part.words, human(part.time), percent(part.time / explanation.step)});
  }
  table.rule();
  table.row({"step", human(explanation.parts.total()),
             percent(explanation.parts.total() / explanation.step)});
  return table.text(options);
}

std::string reliefs_text(const Explanation& explanation, const TableOptions& options) {
  Table table({{"without", Align::kLeft}, {"step"}, {"change"}}, "The same cut with one cost gone");
  for (const Relief& relief : explanation.reliefs) {
    table.row({obstacle_in_words(relief.obstacle), human(relief.step),
               against(relief.step, explanation.step)});
  }
  return table.text(options);
}

std::string move_in_words(const std::optional<MovedBoundary>& move, Seconds step) {
  if (!move) return "not allowed";
  if (move->lack) return lack_in_words(*move->lack);
  return against(move->step, step);
}

std::string moves_text(const Explanation& explanation, const TableOptions& options) {
  struct Run {
    int first = 0;
    int last = 0;
    std::string earlier;
    std::string later;
  };
  std::vector<Run> runs;
  for (const BoundaryMoves& move : explanation.moves) {
    Run run{.first = move.stage,
            .last = move.stage,
            .earlier = move_in_words(move.earlier, explanation.step),
            .later = move_in_words(move.later, explanation.step)};
    if (!runs.empty() && runs.back().last + 1 == run.first && runs.back().earlier == run.earlier &&
        runs.back().later == run.later) {
      runs.back().last = run.last;
    } else {
      runs.push_back(std::move(run));
    }
  }
  Table table({{"boundary before"},
               {"one layer earlier", Align::kLeft, Fit::kShorten},
               {"one layer later", Align::kLeft, Fit::kShorten}},
              "The next cuts");
  const std::size_t first = runs.size() > kMostRows ? kMostRows / 2 : runs.size();
  const std::size_t last = runs.size() > kMostRows ? runs.size() - kMostRows / 2 : runs.size();
  for (std::size_t at = 0; at < runs.size(); ++at) {
    if (at == first && last > first) table.row({"…"});
    if (at >= first && at < last) continue;
    const Run& run = runs[at];
    table.row({run.first == run.last ? fmt::format("stage {}", run.first)
                                     : fmt::format("stages {}–{}", run.first, run.last),
               run.earlier, run.later});
  }
  return table.text(options);
}

/// The part that most of a loser's difference is in: "filling the pipeline +12.3 ms".
std::string loss_in_words(const Loss& loss, const Explanation& explanation) {
  if (loss.lack) return lack_in_words(*loss.lack);
  if (!loss.parts) return loss.runner_up.reason;
  const NamedTime most = greatest_difference(*loss.parts, explanation.parts);
  if (most.time < Seconds(0.0005 * explanation.step.count())) return "nothing: as fast";
  return fmt::format("{} +{}", most.words, human(most.time));
}

std::string losses_text(const Plan& plan, const Explanation& explanation,
                        const TableOptions& options) {
  Table table({{"schedule", Align::kLeft},
               {"batches"},
               {"t × p × d"},
               {"stages"},
               {"step"},
               {"lost", Align::kRight},
               {"most of it in", Align::kLeft, Fit::kShorten}},
              "Why the runners-up lost");
  for (const Loss& loss : explanation.losses) {
    const RunnerUp& runner_up = loss.runner_up;
    table.row({runner_up.schedule,
               fmt::format("{} of {}", runner_up.micro_batch_count, runner_up.micro_batch),
               layout_in_figures(runner_up.layout, runner_up.rank_count),
               std::to_string(runner_up.layer_counts.size()), human(runner_up.step),
               against(runner_up.step, plan.predicted.step), loss_in_words(loss, explanation)});
  }
  return table.text(options);
}

std::string defaults_text(const Explanation& explanation, const TableOptions& options) {
  const bool notes = std::ranges::any_of(explanation.defaults, [](const DefaultSplit& split) {
    return split.lack || split.layer_counts.empty();
  });
  std::vector<Column> columns{{"trainer", Align::kLeft},
                              {"rule", Align::kLeft, Fit::kShorten},
                              {"layers", Align::kLeft, Fit::kShorten},
                              {"step"},
                              {"ratio"}};
  if (notes) columns.push_back({"but", Align::kLeft, Fit::kShorten});
  Table table(std::move(columns), "Trainers' own splits, with the same schedule and sizes");
  for (const DefaultSplit& split : explanation.defaults) {
    std::vector<std::string> cells{split.trainer, split.rule, counts_in_words(split.layer_counts)};
    if (split.layer_counts.empty()) {
      cells.insert(cells.end(), {"", "", "refuses: " + split.refusal});
    } else {
      cells.insert(cells.end(),
                   {human(split.step), fmt::format("{:.3f}", split.step / explanation.step)});
    }
    if (split.lack) cells.push_back(lack_in_words(*split.lack));
    table.row(std::move(cells));
  }
  return table.text(options);
}

std::string what_ifs_text(const Plan& plan, const Explanation& explanation,
                          const TableOptions& options) {
  Table table({{"with", Align::kLeft},
               {"step"},
               {"tokens/s"},
               {"change"},
               {"best plan then", Align::kLeft, Fit::kShorten}},
              "What a change would bring, planned again");
  for (const WhatIf& what_if : explanation.what_ifs) {
    if (!what_if.plan) {
      table.row({what_if.change, "", "", "", "none: " + what_if.refusal});
      continue;
    }
    const Plan& best = *what_if.plan;
    const double change = 100.0 * (best.predicted.tokens_per_s / plan.predicted.tokens_per_s - 1.0);
    table.row(
        {what_if.change, human(best.predicted.step), human_count(best.predicted.tokens_per_s),
         fmt::format("{}{:.1f} %", change < -0.05 ? "−" : "+", std::abs(change)),
         what_if.same_plan
             ? "the same"
             : fmt::format("{}, {}, {} of {}",
                           layout_in_figures(best.layout, static_cast<int>(best.ranks.size())),
                           best.schedule, best.micro_batches.size(), best.micro_batch)});
  }
  return table.text(options) +
         "change: of tokens/s; best plan: t × p × d, schedule, micro-batches\n";
}

}  // namespace

std::string explanation_text(const Plan& plan, const Explanation& explanation,
                             const TableOptions& options) {
  std::string text = wrapped(
      fmt::format(
          "{}: {}, step {}", plan.model.name,
          layout_in_words(plan.layout, static_cast<int>(plan.ranks.size()), plan.stages.size()),
          human(explanation.step)),
      options.width);
  text += wrapped(binding_sentence(explanation), options.width);
  text += '\n' + path_text(explanation, options);
  text += '\n' + parts_text(explanation, options);
  text += '\n' + reliefs_text(explanation, options);
  if (!explanation.moves.empty()) text += '\n' + moves_text(explanation, options);
  if (!explanation.losses.empty()) text += '\n' + losses_text(plan, explanation, options);
  if (!explanation.defaults.empty()) text += '\n' + defaults_text(explanation, options);
  text += '\n' + what_ifs_text(plan, explanation, options);
  return text;
}

}  // namespace ppplan::render
