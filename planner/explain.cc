#include "planner/explain.h"

#include "planner/critical_path.h"
#include "planner/default_splits.h"
#include "planner/plan_pricer.h"
#include "planner/step_account.h"
#include "planner/what_if.h"

#include <algorithm>
#include <cstddef>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ppplan::planner {
namespace {

/// Simulated actions that the moves of boundaries may take: about a second.
constexpr std::int64_t kMoveBudget = 20'000'000;

std::size_t index_of(int at) {
  return static_cast<std::size_t>(at);
}

std::optional<MemoryLack> lack_of(const Candidate& candidate, const Evaluation& evaluation) {
  const int rank = evaluation.fullest_rank(candidate.allowed());
  const MemoryLack lack{.rank = rank,
                        .needed = evaluation.memory[index_of(rank)].total(),
                        .allowed = candidate.allowed()[index_of(rank)]};
  if (lack.needed <= lack.allowed) return std::nullopt;
  return lack;
}

/// The cut with one boundary elsewhere; empty where the question's limits do not allow it.
std::optional<MovedBoundary> moved(const Candidate& candidate, const CutLimits& limits, Cut cut,
                                   std::size_t boundary, int by) {
  cut[boundary] += by;
  if (!limits.allow(cut) || !std::ranges::is_sorted(cut)) return std::nullopt;
  const Evaluation evaluation = candidate.evaluate(cut);
  return MovedBoundary{.step = evaluation.step, .lack = lack_of(candidate, evaluation)};
}

std::vector<BoundaryMoves> boundary_moves(const PricedAgain& plan, const Question& question,
                                          int binding_rank) {
  const Candidate& candidate = *plan.candidate;
  const CutLimits limits =
      cut_limits(question.pins, question.layer_counts, plan.cut.back(), candidate.stage_count());
  const std::vector<int>& rank_of_stage = candidate.schedule().rank_of_stage;
  const bool all = 2 * candidate.stage_count() * candidate.action_count() <= kMoveBudget;
  std::int64_t budget = kMoveBudget;
  std::vector<BoundaryMoves> moves;
  for (std::size_t stage = 1; stage < rank_of_stage.size(); ++stage) {
    const bool beside_binding =
        rank_of_stage[stage - 1] == binding_rank || rank_of_stage[stage] == binding_rank;
    if ((!all && !beside_binding) || budget < 0) continue;
    budget -= 2 * candidate.action_count();
    moves.push_back({.stage = static_cast<int>(stage),
                     .layer = plan.cut[stage],
                     .earlier = moved(candidate, limits, plan.cut, stage, -1),
                     .later = moved(candidate, limits, plan.cut, stage, 1)});
  }
  return moves;
}

std::vector<Loss> losses(const PlanPricer& pricer, const std::vector<RunnerUp>& runners_up) {
  std::vector<Loss> losses;
  for (const RunnerUp& runner_up : runners_up) {
    Loss& loss = losses.emplace_back(Loss{.runner_up = runner_up});
    const std::optional<PricedAgain> priced = pricer.runner_up(runner_up);
    if (!priced) continue;
    loss.parts = step_parts(*priced);
    loss.lack = lack_of(*priced->candidate, priced->evaluation);
  }
  return losses;
}

std::vector<DefaultSplit> compare_defaults(const PricedAgain& plan, const Model& model) {
  std::vector<DefaultSplit> compared;
  if (plan.candidate->stage_count() == 1) return compared;
  for (TrainerSplit& split : default_splits(model, plan.candidate->stage_count())) {
    DefaultSplit& result = compared.emplace_back(DefaultSplit{.trainer = std::move(split.trainer),
                                                              .rule = std::move(split.rule),
                                                              .refusal = std::move(split.refusal)});
    if (split.cut.empty()) continue;
    for (std::size_t stage = 1; stage < split.cut.size(); ++stage) {
      result.layer_counts.push_back(split.cut[stage] - split.cut[stage - 1]);
    }
    const Evaluation evaluation = plan.candidate->evaluate(split.cut);
    result.step = evaluation.step;
    result.lack = lack_of(*plan.candidate, evaluation);
  }
  return compared;
}

/// Two at a time: each takes what the plan took.
std::vector<WhatIf> what_ifs(const Profile& profile, const Plan& plan, Progress& progress) {
  const std::vector<ChangedQuestion> questions = changed_questions(profile, plan);
  const auto total = static_cast<double>(questions.size());
  std::vector<WhatIf> answers;
  progress.start("planning changed questions", total);
  for (std::size_t at = 0; at < questions.size(); at += 2) {
    progress.advance(static_cast<double>(at), total, questions[at].change);
    std::future<WhatIf> beside;
    if (at + 1 < questions.size()) {
      beside =
          std::async(std::launch::async, answer, std::cref(questions[at + 1]), std::cref(plan));
    }
    answers.push_back(answer(questions[at], plan));
    if (beside.valid()) answers.push_back(beside.get());
  }
  progress.finish();
  return answers;
}

}  // namespace

Explanation explain(const Profile& profile, const Plan& plan, Progress& progress) {
  const PlanPricer pricer(profile, options_of(plan));
  const PricedAgain priced = pricer.plan(plan);
  Explanation explanation{
      .step = priced.evaluation.step, .parts = step_parts(priced), .path = critical_path(priced)};
  explanation.reliefs = reliefs(priced, explanation.parts);
  explanation.moves = boundary_moves(priced, pricer.question(), explanation.path.rank);
  explanation.losses = losses(pricer, plan.runners_up);
  explanation.defaults = compare_defaults(priced, profile.model);
  explanation.what_ifs = what_ifs(profile, plan, progress);
  return explanation;
}

}  // namespace ppplan::planner
