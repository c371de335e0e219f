#include "planner/plan_writer.h"

#include "planner/schedule/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace ppplan::planner {
namespace {

constexpr std::size_t kRunnerUpCount = 8;
constexpr std::size_t kUnfitCount = 3;  ///< of them

std::vector<RecomputeRun> runs_of(const RecomputeChoice& choice) {
  std::vector<RecomputeRun> runs;
  const bool any = std::ranges::any_of(
      choice, [](const RecomputedRun& run) { return run.recompute != Recompute::kNone; });
  for (const RecomputedRun& run : choice) {
    if (any) runs.push_back({run.last - run.first, run.recompute, run.segment});
  }
  return runs;
}

std::vector<PlanStage> stages_of(const Candidate& candidate, const Cut& cut,
                                 const Evaluation& evaluation) {
  const CostBasis& basis = candidate.basis();
  const ScheduleCosts costs = candidate.costs(cut);
  std::vector<PlanStage> stages;
  for (std::size_t at = 0; at + 1 < cut.size(); ++at) {
    const StageCost& cost = costs.stages[at].front();
    stages.push_back({.rank = candidate.schedule().rank_of_stage[at],
                      .first_layer = cut[at],
                      .layer_count = cut[at + 1] - cut[at],
                      .forward = cost.forward + basis.call_overhead,
                      .backward = cost.backward + basis.call_overhead,
                      .backward_input = cost.backward_input + basis.call_overhead,
                      .backward_weight = cost.backward_weight + basis.call_overhead,
                      .output = cost.output,
                      .recompute = runs_of(evaluation.recompute[at])});
  }
  return stages;
}

std::vector<PlanRank> ranks_of(const CostBasis& basis, const Evaluation& evaluation) {
  std::vector<PlanRank> ranks;
  for (std::size_t rank = 0; rank < evaluation.memory.size(); ++rank) {
    const Seconds optimizer = evaluation.optimizer[rank];
    const Seconds busy = evaluation.timeline.busy[rank] + optimizer;
    ranks.push_back(
        {.device = basis.devices[rank],
         .busy = busy,
         .idle = std::max(Seconds(0), evaluation.step - busy - evaluation.reduction[rank]),
         .reduction = evaluation.reduction[rank],
         .optimizer = optimizer,
         .memory = evaluation.memory[rank],
         .in_flight = evaluation.in_flight[rank]});
  }
  return ranks;
}

std::string against(Seconds step, Seconds best) {
  const double percent = 100.0 * (step / best - 1.0);
  if (percent >= 0.05) return fmt::format("{:.1f} % slower", percent);
  if (percent <= -0.05) return fmt::format("{:.1f} % faster", -percent);
  return "as fast";
}

RunnerUp runner_up(const Candidate& candidate, const Cut& cut, Seconds step, Seconds best) {
  const Evaluation evaluation = candidate.evaluate(cut);
  const int rank = evaluation.fullest_rank(candidate.allowed());
  const Bytes needed = evaluation.memory[static_cast<std::size_t>(rank)].total();
  const Bytes allowed = candidate.allowed()[static_cast<std::size_t>(rank)];
  RunnerUp loser{.schedule = candidate.schedule().name,
                 .micro_batch = candidate.micro_batch(),
                 .micro_batch_count = candidate.basis().batch.micro_batch_count(),
                 .layer_counts = {},
                 .step = step,
                 .peak = needed,
                 .reason = against(step, best)};
  for (std::size_t at = 0; at + 1 < cut.size(); ++at) {
    loser.layer_counts.push_back(cut[at + 1] - cut[at]);
  }
  if (needed > allowed) {
    loser.reason = fmt::format("rank {} needs {} of {}", rank, human(needed), human(allowed));
  }
  return loser;
}

/// The same number of layers in every stage, the first ones taking the remainder.
Cut even_cut(int layer_count, int stage_count) {
  Cut cut{0};
  for (int stage = 0; stage < stage_count; ++stage) {
    cut.push_back(cut.back() + layer_count / stage_count +
                  (stage < layer_count % stage_count ? 1 : 0));
  }
  return cut;
}

}  // namespace

Plan make_plan(const Question& question, const PartitionOptions& options, const Priced& best,
               const Evaluation& evaluation) {
  const Profile& profile = *question.profile;
  const Candidate& candidate = *best.candidate;
  Plan plan;
  plan.constraints = {.stage_count = options.stage_count,
                      .virtual_count = options.virtual_count,
                      .global_batch = question.global_batch,
                      .sequence = question.sequence,
                      .micro_batch = options.micro_batch,
                      .memory = options.memory,
                      .schedules = options.schedules,
                      .pins = options.pins,
                      .layer_counts = options.layer_counts};
  plan.model = profile.model;
  plan.kernels = profile.kernels;
  if (!profile.links.empty()) plan.link = profile.links.front();
  plan.layout = candidate.basis().layout;
  plan.recompute_chunk = candidate.basis().recompute_chunk;
  plan.micro_batch = candidate.micro_batch();
  plan.micro_batches = candidate.basis().batch.sizes();
  plan.schedule = candidate.schedule().name;
  if (plan.schedule == kSynthesized) {
    plan.schedule = "custom";
    plan.actions = to_lines(candidate.schedule());
  }
  plan.stages = stages_of(candidate, best.cut, evaluation);
  plan.ranks = ranks_of(candidate.basis(), evaluation);
  const bool recomputes = std::ranges::any_of(
      plan.stages, [](const PlanStage& stage) { return !stage.recompute.empty(); });
  plan.export_only = question.forward_only || plan.layout.device_count() > 1 || recomputes ||
                     plan.recompute_chunk != 0;
  const auto tokens =
      static_cast<double>(question.global_batch) * static_cast<double>(question.sequence);
  plan.predicted = {
      .step = evaluation.step,
      .bubble = evaluation.timeline.bubble(),
      .tokens_per_s = evaluation.step > Seconds(0) ? tokens / evaluation.step.count() : 0.0};
  return plan;
}

std::vector<RunnerUp> runners_up(const std::vector<Priced>& priced) {
  const Priced& best = priced.front();
  std::vector<RunnerUp> losers;
  const Candidate& chosen = *best.candidate;
  const Cut even = even_cut(chosen.basis().chain().layer_count(), chosen.stage_count());
  if (even != best.cut && chosen.limits().allow(even)) {
    losers.push_back(runner_up(chosen, even, chosen.step(even), best.step));
    losers.back().reason = "layers split evenly: " + losers.back().reason;
  }
  const auto unfit = std::ranges::find(priced, false, &Priced::fits);
  const auto faster = std::ranges::count_if(
      unfit, priced.end(), [&](const Priced& one) { return one.step < best.step; });
  const std::size_t unfit_count = std::min(kUnfitCount, static_cast<std::size_t>(faster));
  for (auto one = priced.begin() + 1; one != unfit; ++one) {
    if (losers.size() + unfit_count >= kRunnerUpCount) break;
    losers.push_back(runner_up(*one->candidate, one->cut, one->step, best.step));
  }
  for (auto one = unfit; one != unfit + static_cast<std::ptrdiff_t>(unfit_count); ++one) {
    losers.push_back(runner_up(*one->candidate, one->cut, one->step, best.step));
    losers.back().reason += ", else " + against(one->step, best.step);
  }
  return losers;
}

}  // namespace ppplan::planner
