#include "planner/partition.h"

#include "planner/candidate.h"
#include "planner/cut_search.h"
#include "planner/infeasible.h"
#include "planner/plan_writer.h"
#include "planner/question.h"
#include "planner/rivals.h"
#include "planner/size_search.h"
#include "planner/synthesized_plan.h"
#include "planner/verdict.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace ppplan::planner {
namespace {

/// Simulated actions that a search may spend: some tenths of a second.
constexpr std::int64_t kSearchBudget = 20'000'000;
/// Of layouts, where candidates are many and cuts only one thing among several: for each layer and
/// rank.
constexpr std::int64_t kLayoutBudget = 8'000;

/// Searches the candidates' cuts, the most promising first, each only for what beats the best
/// known.
void search_cuts(std::vector<Priced>& priced, SearchCounts& counts, std::int64_t budget) {
  Seconds best = priced.front().step;
  Seconds bound = best;
  counts.proven = priced.front().fits;
  for (Priced& one : priced) {
    if (!one.fits) break;
    const Candidate& candidate = *one.candidate;
    const CutResult found = fastest_cut(candidate, one.cut, best, budget / 2);
    budget -= search_cost(candidate, found);
    counts.simulated_count += found.judged_count;
    counts.excluded_count += found.proven && found.judged_count == 0 ? 1 : 0;
    counts.proven = counts.proven && found.proven;
    bound = std::min(bound, Seconds(found.lower_bound));
    if (!found.cut) continue;
    one.cut = *found.cut;
    one.step = best = Seconds(found.cost);
    one.peak = peak_of(candidate, one.cut);
  }
  bound = std::min(bound, counts.left_out_bound);
  counts.proven = counts.proven && counts.left_out_bound >= best;
  counts.bound = counts.proven ? best : bound;
  sort_best_first(priced);
}

std::int64_t budget_of(const Question& question, const Priced& best) {
  const CostBasis& basis = best.candidate->basis();
  const bool layouts = question.profile->cluster || basis.device_count() > basis.rank_count;
  if (!layouts) return kSearchBudget;
  return std::min(kSearchBudget, kLayoutBudget * basis.chain().layer_count() * basis.rank_count);
}

/// The lower bound that partition promises; at most `step`. Where a rank may have several stages
/// the work of one alone says little.
Seconds lower_bound(const Question& question, const std::vector<Size>& sizes,
                    std::span<const Priced> priced, Seconds step) {
  const bool several_stages = std::ranges::any_of(
      priced, [](const Priced& one) { return !one.candidate->one_stage_a_rank(); });
  Seconds least = step;
  const bool many = sizes.size() > kFewSizes;
  for (const Size& size : sizes) {
    if (size.bound >= least) break;
    if (several_stages || many) return size.bound;
    const auto basis = make_basis(question, size);
    const ChainCosts& chain = basis->chain();
    std::vector<int> ranks(static_cast<std::size_t>(basis->rank_count));
    std::iota(ranks.begin(), ranks.end(), 0);
    const MakespanBound makespan(chain, basis->batch, basis->places(ranks), basis->call_overhead,
                                 BoundKind::kAny);
    const StageBound bound = [&](int stage, int first, int last) {
      return (makespan.at(stage, first, last) +
              chain.optimizer(first, last) * basis->slowdown[static_cast<std::size_t>(stage)] +
              chain.least_reduction(first, last) + basis->step_overhead)
          .count();
    };
    const auto found =
        least_bottleneck(chain.layer_count(), basis->rank_count, bound, least.count());
    if (found) least = std::max(size.bound, Seconds(found->bound));
  }
  return least;
}

/// The fastest that fits on more than one rank.
std::optional<Seconds> best_pipeline(const std::vector<Priced>& priced) {
  for (const Priced& one : priced) {
    if (one.fits && one.candidate->rank_count() > 1) return one.step;
  }
  return std::nullopt;
}

/// The devices that other ways may use: all that were asked about, and never fewer than the plan's.
int rival_devices(const Question& question, const Candidate& chosen) {
  int most = chosen.basis().device_count();
  for (const PipelineShape& shape : question.shapes) most = std::max(most, shape.device_count());
  return most;
}

/// Every schedule asked for, with its best cut; the chosen one first.
std::vector<Priced> find_plans(const Question& question, const std::vector<Size>& sizes,
                               SearchCounts& counts) {
  std::vector<Priced> priced;
  if (!question.schedules.empty()) {
    priced = price_sizes(question, sizes, counts);
    search_cuts(priced, counts, budget_of(question, priced.front()));
  }
  if (question.drafts.empty()) return priced;
  Question drafted = question;
  drafted.schedules = question.drafts;
  std::vector<Priced> drafts = price_sizes(drafted, sizes, counts);
  search_cuts(drafts, counts, budget_of(question, drafts.front()));
  for (Priced& made : synthesized(drafts)) priced.push_back(std::move(made));
  sort_best_first(priced);
  // Drafts are no answer, but tell what the order gains. Orders are made, not proven.
  const auto chosen = static_cast<std::size_t>(priced.empty() ? 0 : 1);
  priced.insert(priced.end(), drafts.begin(), drafts.end());
  sort_best_first(std::span(priced).subspan(chosen));
  counts.proven = false;
  counts.bound = Seconds(0);
  return priced;
}

/// The question about every schedule that was looked at.
Question with_drafts(Question question) {
  question.schedules.insert(question.schedules.end(), question.drafts.begin(),
                            question.drafts.end());
  return question;
}

}  // namespace

std::variant<Planned, Infeasible> partition(const Profile& profile,
                                            const PartitionOptions& options) {
  const Question question = ask(profile, options);
  SearchCounts counts;
  const std::vector<Size> sizes = sizes_of(question);
  std::vector<Priced> priced = find_plans(question, sizes, counts);
  if (!priced.front().fits) {
    const Question every = with_drafts(question);
    const NearestFit nearest = nearest_fit(every);
    if (!nearest.fits()) return explain_infeasible(every, nearest);
    // Of very many sizes those looked at first did not fit; this one does.
    counts.proven = false;
    priced.insert(priced.begin(), {.candidate = nearest.candidate,
                                   .cut = nearest.cut,
                                   .step = nearest.candidate->step(nearest.cut),
                                   .peak = peak_of(*nearest.candidate, nearest.cut),
                                   .fits = true});
  }
  const Priced& best = priced.front();
  const Evaluation evaluation = best.candidate->evaluate(best.cut);
  Plan plan = make_plan(question, options, best, evaluation);
  plan.lower_bound = lower_bound(question, sizes, priced, best.step);
  counts.bound = std::max(counts.bound, plan.lower_bound);
  plan.runners_up = runners_up(priced);
  const std::vector<RivalPlan> rivals =
      find_rivals(question, options, rival_devices(question, *best.candidate));
  const double tokens = plan.predicted.tokens_per_s * plan.predicted.step.count();
  for (const RivalPlan& rival : rivals) plan.rivals.push_back(describe_rival(rival, tokens));
  plan.verdict = judge_plan(question, options, best, evaluation, rivals, best_pipeline(priced));
  Schedule schedule = best.candidate->schedule();
  schedule.name = plan.schedule;
  return Planned{.plan = std::move(plan),
                 .schedule = std::move(schedule),
                 .timeline = evaluation.timeline,
                 .allowed = best.candidate->allowed(),
                 .search = counts,
                 .basis = best.candidate->shared_basis()};
}

}  // namespace ppplan::planner
