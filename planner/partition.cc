#include "planner/partition.h"

#include "planner/candidate.h"
#include "planner/infeasible.h"
#include "planner/plan_writer.h"
#include "planner/question.h"
#include "planner/verdict.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace ppplan::planner {
namespace {

/// Simulated actions that a search may spend: about a second.
constexpr std::int64_t kSearchBudget = 8'000'000;
/// Candidates whose bound is beyond this many times the best known step are not looked at.
constexpr double kInterest = 1.5;

/// Every size the question leaves open, cheapest bound first.
struct Size {
  int stage_count = 0;
  std::shared_ptr<const CostBasis> basis;
  Seconds bound{0};
};

std::vector<Size> sizes_of(const Question& question) {
  std::vector<Size> sizes;
  for (const int stage_count : question.stage_counts) {
    for (auto& basis : cost_bases(question, stage_count)) {
      const Seconds bound = cheap_bound(*basis, stage_count);
      sizes.push_back({stage_count, std::move(basis), bound});
    }
  }
  std::ranges::stable_sort(sizes, {}, &Size::bound);
  return sizes;
}

StageBound search_bound(const Candidate& candidate) {
  return [&candidate](int stage, int first, int last) {
    return candidate.search_bound(stage, first, last);
  };
}

/// A cut that fits and is nearly balanced; empty when none fits.
std::optional<Cut> first_fitting_cut(const Candidate& candidate) {
  const int layer_count = candidate.basis().chain.layer_count();
  const StageBound bound = search_bound(candidate);
  if (auto quick = quick_bottleneck(layer_count, candidate.stage_count(), bound)) return quick->cut;
  if (auto exact = least_bottleneck(layer_count, candidate.stage_count(), bound)) return exact->cut;
  return std::nullopt;
}

/// A balanced cut, whatever it needs.
Cut balanced_cut(const Candidate& candidate) {
  const StageBound bound = [&candidate](int stage, int first, int last) {
    return candidate.step_bound(stage, first, last).count();
  };
  return quick_bottleneck(candidate.basis().chain.layer_count(), candidate.stage_count(), bound)
      ->cut;
}

/// The fullest rank's need, for ties.
Bytes peak_of(const Candidate& candidate, const Cut& cut) {
  Bytes peak;
  for (int stage = 0; stage < candidate.stage_count(); ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    peak = std::max(peak, candidate.memory(stage, cut[at], cut[at + 1]));
  }
  return peak;
}

/// Prices every candidate with a nearly balanced cut.
std::vector<Priced> price_all(const Question& question, SearchCounts& counts) {
  std::vector<Priced> priced;
  Seconds best{kUnreachable};
  for (const Size& size : sizes_of(question)) {
    if (size.bound >= kInterest * best) {
      counts.candidate_count += static_cast<int>(question.schedules.size());
      counts.excluded_count += static_cast<int>(question.schedules.size());
      continue;
    }
    for (Candidate& candidate : candidates(question, size.basis, size.stage_count)) {
      ++counts.candidate_count;
      ++counts.simulated_count;
      auto kept = std::make_shared<const Candidate>(std::move(candidate));
      const std::optional<Cut> fitting = first_fitting_cut(*kept);
      const Cut cut = fitting ? *fitting : balanced_cut(*kept);
      priced.push_back({.candidate = kept,
                        .cut = cut,
                        .step = kept->step(cut),
                        .peak = peak_of(*kept, cut),
                        .fits = fitting.has_value()});
      if (fitting) best = std::min(best, priced.back().step);
    }
  }
  std::ranges::stable_sort(
      priced, {}, [](const Priced& one) { return std::tuple(!one.fits, one.step, one.peak); });
  return priced;
}

/// Searches the candidates' cuts, the most promising first, each only for what beats the best
/// known.
void search_cuts(std::vector<Priced>& priced, SearchCounts& counts) {
  std::int64_t budget = kSearchBudget;
  Seconds best = priced.front().step;
  Seconds bound = best;
  counts.proven = true;
  for (Priced& one : priced) {
    if (!one.fits) break;
    const Candidate& candidate = *one.candidate;
    const std::int64_t action_count =
        2LL * candidate.stage_count() * candidate.basis().batch.micro_batch_count();
    const CutProblem problem{
        .layer_count = candidate.basis().chain.layer_count(),
        .stage_count = candidate.stage_count(),
        .bound = search_bound(candidate),
        .cost = [&candidate](const Cut& cut) { return candidate.step(cut).count(); }};
    const CutResult found =
        cheapest_cut(problem, {.ceiling = best.count(), .judged_count = budget / 2 / action_count});
    budget -= found.judged_count * action_count;
    counts.simulated_count += found.judged_count;
    counts.excluded_count += found.proven && found.judged_count == 0 ? 1 : 0;
    counts.proven = counts.proven && found.proven;
    bound = std::min(bound, Seconds(found.lower_bound));
    if (!found.cut) continue;
    one.cut = *found.cut;
    one.step = best = Seconds(found.cost);
    one.peak = peak_of(candidate, one.cut);
  }
  counts.bound = counts.proven ? best : bound;
  std::ranges::stable_sort(
      priced, {}, [](const Priced& one) { return std::tuple(!one.fits, one.step, one.peak); });
}

/// The lower bound that partition promises; at most `step`.
Seconds lower_bound(const Question& question, Seconds step) {
  Seconds least = step;
  for (const Size& size : sizes_of(question)) {
    if (size.bound >= least) break;
    const CostBasis& basis = *size.basis;
    const MakespanBound makespan(basis.chain, basis.batch, size.stage_count, basis.call_overhead,
                                 BoundKind::kAny);
    const StageBound bound = [&](int stage, int first, int last) {
      return (makespan.at(stage, first, last) + basis.chain.optimizer(first, last) +
              basis.chain.least_reduction(first, last) + basis.step_overhead)
          .count();
    };
    const auto found =
        least_bottleneck(basis.chain.layer_count(), size.stage_count, bound, least.count());
    if (found) least = std::max(size.bound, Seconds(found->bound));
  }
  return least;
}

/// The fastest that fits on more than one rank.
std::optional<Seconds> best_pipeline(const std::vector<Priced>& priced) {
  for (const Priced& one : priced) {
    if (one.fits && one.candidate->stage_count() > 1) return one.step;
  }
  return std::nullopt;
}

}  // namespace

std::variant<Planned, Infeasible> partition(const Profile& profile,
                                            const PartitionOptions& options) {
  const Question question = ask(profile, options);
  SearchCounts counts;
  std::vector<Priced> priced = price_all(question, counts);
  if (!priced.front().fits) return explain_infeasible(question);
  search_cuts(priced, counts);
  const Priced& best = priced.front();
  const Evaluation evaluation = best.candidate->evaluate(best.cut);
  Plan plan = make_plan(question, options, best, evaluation);
  plan.lower_bound = lower_bound(question, best.step);
  plan.runners_up = runners_up(priced);
  plan.verdict = judge_plan(*best.candidate, best.cut, evaluation, single_device(question),
                            best_pipeline(priced));
  return Planned{.plan = std::move(plan),
                 .schedule = best.candidate->schedule(),
                 .timeline = evaluation.timeline,
                 .allowed = best.candidate->allowed(),
                 .search = counts};
}

}  // namespace ppplan::planner
