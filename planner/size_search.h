// Prices the sizes of a question: layouts, micro-batch sizes, schedules, pieces of recomputing.
#pragma once

#include "planner/partition.h"
#include "planner/plan_writer.h"
#include "planner/question.h"

#include <cstddef>
#include <span>
#include <vector>

namespace ppplan::planner {

/// So many sizes are all looked at.
inline constexpr std::size_t kFewSizes = 200;

/// About how long a step of a size takes, and whether it is likely to fit: layers taken as spread
/// evenly over the ranks, 1F1B's in-flight micro-batches, recompute as a fractional knapsack between
/// the options' totals. No bound; it says where to look first. O(ranks).
Seconds estimate_step(const Question& question, const Size& size);

/// Prices candidates with nearly balanced cuts, the best first. Up to some hundred sizes all whose
/// bound does not exclude them are priced; of more, those that estimate_step puts first, and those
/// left out count in `counts.bound`. Throws Error(kBadInput) when no schedule serves any size.
std::vector<Priced> price_sizes(const Question& question, SearchCounts& counts);

/// By fit, step, and the fullest rank's need.
void sort_best_first(std::span<Priced> priced);

/// The fullest rank's need, for ties.
Bytes peak_of(const Candidate& candidate, const Cut& cut);

}  // namespace ppplan::planner
