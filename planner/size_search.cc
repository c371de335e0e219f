#include "planner/size_search.h"

#include "planner/cut_search.h"
#include "planner/default_splits.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace ppplan::planner {
namespace {

/// Of more sizes so many are priced.
constexpr int kPricedSizes = 32;
/// And so many times as many until one fits.
constexpr int kPatience = 4;
/// Where even the estimate says that none fits.
constexpr int kHopelessSizes = 8;
/// Candidates whose bound is beyond this many times the best known step are not looked at: of few
/// sizes the losers are of interest too.
constexpr double kInterest = 1.5;

void count_excluded(const Question& question, SearchCounts& counts) {
  counts.candidate_count += static_cast<int>(question.schedules.size());
  counts.excluded_count += static_cast<int>(question.schedules.size());
}

/// Prices the candidates of one size.
class Pricing {
 public:
  Pricing(const Question& question, SearchCounts& counts)
      : question_(question), counts_(counts), best_(kUnreachable) {}

  /// Whether a schedule serves it.
  bool price(const Size& size) {
    Offer offered = offer(question_, make_basis(question_, size));
    if (offered.refusal) refusal_ = offered.refusal;
    for (Candidate& candidate : offered.candidates) {
      ++counts_.candidate_count;
      ++counts_.simulated_count;
      auto kept = std::make_shared<const Candidate>(std::move(candidate));
      const std::optional<Cut> fitting = fitting_cut(*kept);
      const Cut cut = fitting ? *fitting : balanced_cut(*kept);
      priced_.push_back({.candidate = kept,
                         .cut = cut,
                         .step = kept->step(cut),
                         .peak = peak_of(*kept, cut),
                         .fits = fitting.has_value()});
      try_even(priced_.back());
      if (priced_.back().fits) best_ = std::min(best_, priced_.back().step);
    }
    return !offered.candidates.empty();
  }

  /// Of those that fit.
  [[nodiscard]] Seconds best() const { return best_; }
  [[nodiscard]] bool any_fits() const { return best_ < Seconds(kUnreachable); }

  std::vector<Priced> take() {
    if (priced_.empty()) throw *refusal_;
    sort_best_first(priced_);
    return std::move(priced_);
  }

 private:
  /// Equal layers split evenly are often best, and never worth less than a look.
  void try_even(Priced& priced) {
    const Candidate& candidate = *priced.candidate;
    const Cut even = even_parts(candidate.basis().chain().layer_count(), candidate.stage_count());
    if (even == priced.cut || !candidate.limits().allow(even)) return;
    if (candidate.excess(even) > Bytes{0}) return;
    ++counts_.simulated_count;
    const Seconds step = candidate.step(even);
    if (priced.fits && step >= priced.step) return;
    priced = {.candidate = priced.candidate,
              .cut = even,
              .step = step,
              .peak = peak_of(candidate, even),
              .fits = true};
  }

  const Question& question_;
  SearchCounts& counts_;
  Seconds best_;
  std::optional<Error> refusal_;
  std::vector<Priced> priced_;
};

}  // namespace

Bytes peak_of(const Candidate& candidate, const Cut& cut) {
  return std::ranges::max(candidate.memory(cut));
}

void sort_best_first(std::span<Priced> priced) {
  std::ranges::stable_sort(
      priced, {}, [](const Priced& one) { return std::tuple(!one.fits, one.step, one.peak); });
}

const StepEstimate::Totals& StepEstimate::totals(const Size& size, const ChainCosts& chain) {
  const auto [known, fresh] =
      totals_.try_emplace(std::tuple(size.shape.layout.sharding, size.chunk, size.micro_batch));
  Totals& options = known->second;
  for (std::size_t at = 0; fresh && at < kRecomputeCount; ++at) {
    const Recompute recompute = std::min(static_cast<Recompute>(at), question_.recompute);
    for (int layer = 0; layer < chain.layer_count(); ++layer) {
      const StageCost cost = chain.stage(layer, layer + 1, 0, {{layer, layer + 1, recompute}});
      const Bytes most = std::max(cost.forward_peak, cost.backward_peak);
      options[at].saved += static_cast<double>(cost.saved.count);
      options[at].added += chain.added(layer, recompute).count();
      options[at].workspace = std::max(options[at].workspace, static_cast<double>(most.count));
    }
  }
  return options;
}

/// Added time for which `kept` bytes of a micro-batch's activations remain, mixing two options.
double StepEstimate::mixed(const OptionTotals& from, const OptionTotals& to, double kept) {
  if (from.saved <= kept) return from.added;
  if (to.saved > kept || to.saved >= from.saved) return kUnreachable;
  const double share = (from.saved - kept) / (from.saved - to.saved);
  return from.added + share * (to.added - from.added);
}

StepEstimate::Estimate StepEstimate::of(const Size& size) {
  const Layout& layout = size.shape.layout;
  const int ranks = size.shape.rank_count;
  const ChainCosts chain = question_.book->chain(layout, ranks, size.chunk, {size.micro_batch});
  const int layers = chain.layer_count();
  const auto count =
      static_cast<int>(question_.global_batch / layout.data_parallel / size.micro_batch);
  StaticMemory kept = chain.static_memory(0, layers);
  const double room = static_cast<double>(allowed_memory(question_).count) -
                      static_cast<double>(kept.total().count) / ranks;
  const auto& [none, selective, full] = totals(size, chain);
  const double work =
      (chain.forward(0, layers, 0) + chain.least_backward(0, layers, 0)).count() / ranks +
      2.0 * question_.profile->call_overhead.count();
  const double need = static_cast<double>(kept.total().count) / ranks + full.workspace +
                      full.saved * std::min(count, ranks) / ranks;
  double slowest = 0.0;
  for (int rank = 0; rank < ranks; ++rank) {
    const double in_flight = std::min(count, ranks - rank);
    const auto room_for = [&](const OptionTotals& option) {
      return (room - option.workspace) * ranks / in_flight;
    };
    const double added =
        std::min({mixed(none, full, room_for(full)), mixed(none, selective, room_for(selective)),
                  mixed(selective, full, room_for(full))});
    slowest = std::max(slowest, work + added / ranks);
  }
  for (Bytes* bytes : {&kept.updated, &kept.gradients}) bytes->count /= ranks;
  const Seconds hops = 2.0 * (ranks - 1) * chain.least_transfer(0, LinkScope::kInside);
  const Seconds step = Seconds(slowest * count + work * (ranks - 1)) + hops +
                       chain.replica_reduction(kept) + chain.optimizer(0, layers) / ranks;
  return {step, need};
}

std::vector<Size> leanest_sizes(const Question& question, std::size_t most) {
  std::vector<Size> sizes = sizes_of(question);
  if (sizes.size() <= kFewSizes) return sizes;
  StepEstimate estimate(question);
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    order.emplace_back(estimate.of(sizes[at]).need, at);
  }
  std::ranges::sort(order);
  std::vector<Size> leanest;
  for (std::size_t at = 0; at < std::min(most, order.size()); ++at) {
    leanest.push_back(std::move(sizes[order[at].second]));
  }
  return leanest;
}

std::vector<Priced> price_sizes(const Question& question, const std::vector<Size>& sizes,
                                SearchCounts& counts, std::optional<int> most) {
  Pricing pricing(question, counts);
  if (sizes.size() <= kFewSizes && !most) {
    for (const Size& size : sizes) {
      if (size.bound < kInterest * pricing.best()) {
        pricing.price(size);
      } else {
        count_excluded(question, counts);
      }
    }
    return pricing.take();
  }
  StepEstimate estimate(question);
  std::vector<std::pair<StepEstimate::Estimate, std::size_t>> order;
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    order.emplace_back(estimate.of(sizes[at]), at);
  }
  std::ranges::sort(order);
  const auto limit = [&pricing](const StepEstimate::Estimate& about, int wanted) {
    if (pricing.any_fits()) return wanted;
    const bool hopeless = about.step >= Seconds(kUnreachable);
    return hopeless ? std::min(wanted, kHopelessSizes) : wanted * kPatience;
  };
  int priced = 0;
  for (const auto& [about, at] : order) {
    const Size& size = sizes[at];
    if (size.bound >= pricing.best()) {
      count_excluded(question, counts);
    } else if (priced < limit(about, most.value_or(kPricedSizes))) {
      priced += pricing.price(size) ? 1 : 0;
    } else {
      counts.candidate_count += static_cast<int>(question.schedules.size());
      counts.left_out_count += static_cast<int>(question.schedules.size());
      counts.left_out_bound = std::min(counts.left_out_bound, size.bound);
    }
  }
  return pricing.take();
}

}  // namespace ppplan::planner
