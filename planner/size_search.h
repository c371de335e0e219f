// Prices the sizes of a question: layouts, micro-batch sizes, schedules, pieces of recomputing.
#pragma once

#include "planner/partition.h"
#include "planner/plan_writer.h"
#include "planner/question.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace ppplan::planner {

/// So many sizes are all looked at.
inline constexpr std::size_t kFewSizes = 200;

/// About how long a step of a size takes; infinite where it is not likely to fit: layers taken as
/// spread evenly over the ranks, 1F1B's in-flight micro-batches, recompute as a fractional knapsack
/// between the options' totals. No bound; it says where to look first.
class StepEstimate {
 public:
  explicit StepEstimate(const Question& question) : question_(question) {}

  struct Estimate {
    Seconds step{0};
    double need = 0.0;  ///< bytes of the first rank with everything recomputed
    auto operator<=>(const Estimate&) const = default;
  };
  /// O(ranks), and O(layers) for the first size of its kind.
  Estimate of(const Size& size);

 private:
  /// What an option keeps and adds over all layers, for one micro-batch.
  struct OptionTotals {
    double saved = 0.0;
    double added = 0.0;
    double workspace = 0.0;  ///< of the hungriest layer
  };
  using Totals = std::array<OptionTotals, kRecomputeCount>;

  const Totals& totals(const Size& size, const ChainCosts& chain);
  static double mixed(const OptionTotals& from, const OptionTotals& to, double kept);

  const Question& question_;
  std::map<std::tuple<Sharding, std::int64_t, int>, Totals> totals_;
};

/// Of very many sizes the `most` whose fullest rank StepEstimate says needs least; else all.
std::vector<Size> leanest_sizes(const Question& question, std::size_t most);

/// Prices candidates with nearly balanced cuts, the best first. Up to some hundred sizes all whose
/// bound does not exclude them are priced; of more, those that StepEstimate puts first, and those
/// left out count in `counts.left_out_bound`. `most`: so many are priced, however few there are.
/// Throws Error(kBadInput) when no schedule serves any size.
std::vector<Priced> price_sizes(const Question& question, const std::vector<Size>& sizes,
                                SearchCounts& counts, std::optional<int> most = std::nullopt);

/// By fit, step, and the fullest rank's need.
void sort_best_first(std::span<Priced> priced);

/// The fullest rank's need, for ties.
Bytes peak_of(const Candidate& candidate, const Cut& cut);

}  // namespace ppplan::planner
