#include "planner/cut_search.h"

#include <algorithm>
#include <cstddef>

namespace ppplan::planner {
namespace {

/// Actions whose memory a search for a cut that fits may follow.
constexpr std::int64_t kFittingBudget = 2'000'000;
/// A branch takes about as long as so many simulated actions.
constexpr std::int64_t kBranchCost = 30;
/// Bounds that a table of all stages may ask for, where ranks have several.
constexpr std::int64_t kTableLimit = 1'000'000;

StageBound search_bound(const Candidate& candidate) {
  return [&candidate](int stage, int first, int last) {
    return candidate.search_bound(stage, first, last);
  };
}

int layer_count(const Candidate& candidate) {
  return candidate.basis().chain().layer_count();
}

bool short_chain(const Candidate& candidate) {
  const std::int64_t layers = layer_count(candidate);
  return layers * layers * candidate.stage_count() <= kTableLimit;
}

/// The candidate's smallest excess, where ranks have several stages. Costs are counted from minus
/// the largest limit, so that they are never negative.
Bottleneck leanest_of_several(const Candidate& candidate) {
  const Bytes origin = *std::ranges::max_element(candidate.allowed());
  const auto from_origin = [&](Bytes excess) {
    return static_cast<double>((excess + origin).count);
  };
  const std::vector<int>& rank_of_stage = candidate.schedule().rank_of_stage;
  const CutProblem problem{
      .layer_count = layer_count(candidate),
      .stage_count = candidate.stage_count(),
      .bound =
          [&](int stage, int first, int last) {
            const double barred = candidate.limits().bound(stage, first, last);
            const int rank = rank_of_stage[static_cast<std::size_t>(stage)];
            const Bytes allowed = candidate.allowed()[static_cast<std::size_t>(rank)];
            const Bytes needed = candidate.memory(stage, first, last);
            return barred > 0.0 ? barred : from_origin(needed - allowed);
          },
      .cost = [&](const Cut& cut) { return from_origin(candidate.excess(cut)); },
      .start = balanced_cut(candidate)};
  const SearchLimits limits{
      .judged_count = std::max<std::int64_t>(2, kFittingBudget / candidate.pricing_cost())};
  const CutResult found =
      short_chain(candidate) ? cheapest_cut(problem, limits) : improved_cut(problem, limits);
  return {*found.cut, found.cost - static_cast<double>(origin.count)};
}

/// Any cut that fits, where ranks have several stages: every one is looked at that stages alone do
/// not exclude, until one fits.
std::optional<Cut> any_fitting_of_several(const Candidate& candidate, const Cut& start) {
  const CutProblem problem{
      .layer_count = layer_count(candidate),
      .stage_count = candidate.stage_count(),
      .bound =
          [&](int stage, int first, int last) {
            const double bound = candidate.search_bound(stage, first, last);
            return bound >= kBlocked ? bound : 0.0;
          },
      .cost =
          [&](const Cut& cut) {
            return static_cast<double>(std::max(candidate.excess(cut), Bytes{0}).count);
          },
      .start = start};
  CutResult found =
      cheapest_cut(problem, {.judged_count = kFittingBudget / candidate.pricing_cost()});
  return found.cost <= 0.0 ? std::move(found.cut) : std::nullopt;
}

}  // namespace

Cut balanced_cut(const Candidate& candidate) {
  const StageBound bound = [&candidate](int stage, int first, int last) {
    const double barred = candidate.limits().bound(stage, first, last);
    return barred > 0.0 ? barred : candidate.step_bound(stage, first, last).count();
  };
  const int layers = layer_count(candidate);
  if (auto quick = quick_bottleneck(layers, candidate.stage_count(), bound)) return quick->cut;
  return least_bottleneck(layers, candidate.stage_count(), bound)->cut;
}

namespace {

/// Whether an even share of parameters, gradients and optimizer state alone is more than any rank
/// may take. O(1).
bool too_large(const Candidate& candidate) {
  const Bytes kept = candidate.basis().chain().static_memory(0, layer_count(candidate)).total();
  const Bytes roomiest = *std::ranges::max_element(candidate.allowed());
  return Bytes{kept.count / candidate.rank_count()} > roomiest;
}

}  // namespace

std::optional<Cut> fitting_cut(const Candidate& candidate) {
  if (too_large(candidate)) return std::nullopt;
  if (!candidate.one_stage_a_rank()) {
    Cut balanced = balanced_cut(candidate);
    if (candidate.excess(balanced) <= Bytes{0}) return balanced;
    Bottleneck leanest = leanest_of_several(candidate);
    if (leanest.bound <= 0.0) return std::move(leanest.cut);
    return short_chain(candidate) ? any_fitting_of_several(candidate, leanest.cut) : std::nullopt;
  }
  const StageBound bound = search_bound(candidate);
  const int layers = layer_count(candidate);
  if (auto quick = quick_bottleneck(layers, candidate.stage_count(), bound)) return quick->cut;
  if (auto exact = least_bottleneck(layers, candidate.stage_count(), bound)) return exact->cut;
  return std::nullopt;
}

std::optional<Bottleneck> leanest_cut(const Candidate& candidate, double ceiling) {
  if (!candidate.one_stage_a_rank()) {
    Bottleneck leanest = leanest_of_several(candidate);
    return leanest.bound < ceiling ? std::optional(std::move(leanest)) : std::nullopt;
  }
  const StageBound excess = [&candidate](int stage, int first, int last) {
    const double barred = candidate.limits().bound(stage, first, last);
    const Bytes allowed = candidate.allowed()[static_cast<std::size_t>(stage)];
    return barred > 0.0
               ? barred
               : static_cast<double>((candidate.memory(stage, first, last) - allowed).count);
  };
  return least_bottleneck(layer_count(candidate), candidate.stage_count(), excess, ceiling);
}

std::int64_t search_cost(const Candidate& candidate, const CutResult& result) {
  return result.judged_count * candidate.pricing_cost() + result.branch_count * kBranchCost;
}

CutResult fastest_cut(const Candidate& candidate, const Cut& start, Seconds ceiling,
                      std::int64_t simulated_actions) {
  const SearchLimits limits{.ceiling = ceiling.count(),
                            .judged_count = simulated_actions / candidate.pricing_cost(),
                            .branch_count = simulated_actions / kBranchCost};
  CutProblem problem{.layer_count = layer_count(candidate),
                     .stage_count = candidate.stage_count(),
                     .bound = search_bound(candidate),
                     .cost = [&](const Cut& cut) { return candidate.step(cut).count(); }};
  if (candidate.one_stage_a_rank()) return cheapest_cut(problem, limits);
  problem.cost = [&](const Cut& cut) {
    return candidate.excess(cut) > Bytes{0} ? kUnreachable : candidate.step(cut).count();
  };
  problem.prefix_bound = [&](const Cut& cut, int stage_count) {
    return candidate.prefix_bound(cut, stage_count).count();
  };
  problem.least = candidate.least_step().count();
  problem.start = start;
  return short_chain(candidate) ? cheapest_cut(problem, limits) : improved_cut(problem, limits);
}

}  // namespace ppplan::planner
