#include "planner/plan_writer.h"

#include "planner/default_splits.h"
#include "planner/schedule/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
  RunnerUp loser{.layout = candidate.basis().layout,
                 .rank_count = candidate.rank_count(),
                 .schedule = candidate.schedule().name,
                 .micro_batch = candidate.micro_batch(),
                 .micro_batch_count = candidate.basis().batch.micro_batch_count(),
                 .recompute_chunk = candidate.basis().recompute_chunk,
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
                      .layer_counts = options.layer_counts,
                      .device_count = options.device_count,
                      .tensor_parallel = options.tensor_parallel,
                      .data_parallel = options.data_parallel,
                      .data_sharding = options.data_sharding,
                      .recompute = options.recompute,
                      .recompute_chunk = options.recompute_chunk,
                      .reserve = options.reserve};
  plan.model = profile.model;
  plan.kernels = profile.kernels;
  if (!profile.links.empty()) plan.link = profile.links.front();
  plan.layout = candidate.basis().layout;
  plan.available_devices =
      options.device_count.value_or(profile.cluster ? profile.cluster->device_count() : 0);
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

namespace {

/// Runners-up of one schedule, size and number of devices by each axis: of these few are enough.
bool akin(const Candidate& one, const Candidate& other) {
  const CostBasis& left = one.basis();
  const CostBasis& right = other.basis();
  return one.schedule().name == other.schedule().name && one.stage_count() == other.stage_count() &&
         left.rank_count == right.rank_count && one.micro_batch() == other.micro_batch() &&
         left.layout.sharding == right.layout.sharding &&
         left.layout.data_parallel == right.layout.data_parallel;
}

/// Likewise, cut alike, and none is faster: an order of devices or a division that gains nothing.
bool same(const Priced& one, const Priced& other) {
  constexpr double kSameStep = 5e-4;
  return akin(*one.candidate, *other.candidate) && one.cut == other.cut &&
         std::abs(one.step / other.step - 1.0) < kSameStep;
}

/// At most `most` of [first, last): none twice, and few that are akin.
std::vector<const Priced*> varied(const Priced& best, std::vector<Priced>::const_iterator first,
                                  std::vector<Priced>::const_iterator last, std::size_t most) {
  constexpr std::ptrdiff_t kAkin = 2;
  std::vector<const Priced*> taken{&best};
  for (auto one = first; one != last && taken.size() <= most; ++one) {
    const auto same_as = [&](const Priced* other) { return same(*one, *other); };
    const auto akin_to = [&](const Priced* other) {
      return akin(*one->candidate, *other->candidate);
    };
    if (std::ranges::any_of(taken, same_as)) continue;
    if (std::ranges::count_if(taken, akin_to) <= kAkin) taken.push_back(&*one);
  }
  taken.erase(taken.begin());
  return taken;
}

}  // namespace

std::vector<RunnerUp> runners_up(const std::vector<Priced>& priced) {
  const Priced& best = priced.front();
  std::vector<RunnerUp> losers;
  const Candidate& chosen = *best.candidate;
  const Cut even = even_parts(chosen.basis().chain().layer_count(), chosen.stage_count());
  if (even != best.cut && chosen.limits().allow(even)) {
    losers.push_back(runner_up(chosen, even, chosen.step(even), best.step));
    losers.back().reason = "layers split evenly: " + losers.back().reason;
  }
  const auto unfit = std::ranges::find(priced, false, &Priced::fits);
  const auto faster = std::ranges::count_if(
      unfit, priced.end(), [&](const Priced& one) { return one.step < best.step; });
  const std::size_t unfit_count = std::min(kUnfitCount, static_cast<std::size_t>(faster));
  const std::size_t fit_count = kRunnerUpCount - unfit_count - losers.size();
  for (const Priced* one : varied(best, priced.begin() + 1, unfit, fit_count)) {
    losers.push_back(runner_up(*one->candidate, one->cut, one->step, best.step));
  }
  for (const Priced* one : varied(best, unfit, unfit + faster, unfit_count)) {
    losers.push_back(runner_up(*one->candidate, one->cut, one->step, best.step));
    losers.back().reason += ", else " + against(one->step, best.step);
  }
  return losers;
}

}  // namespace ppplan::planner
