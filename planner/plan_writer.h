// Puts a priced candidate into the plan document's words.
#pragma once

#include "planner/candidate.h"
#include "planner/question.h"

#include <memory>
#include <vector>

namespace ppplan::planner {

/// A candidate with the best cut known for it.
struct Priced {
  std::shared_ptr<const Candidate> candidate;
  Cut cut;
  Seconds step{0};
  Bytes peak;         ///< of the fullest rank
  bool fits = false;  ///< else `cut` is one that ignores memory
};

/// Everything but the lower bound, the runners-up and the verdict. `options` is what was asked,
/// before it was completed.
Plan make_plan(const Question& question, const PartitionOptions& options, const Priced& best,
               const Evaluation& evaluation);

/// The candidates after the first, at most eight: first those that fit, fastest first, then those
/// that would be faster if they did; and before them the first one's layers split evenly. Of
/// those with equal degrees, schedule and micro-batch a few that differ in time. `priced` is
/// sorted, the chosen one first.
std::vector<RunnerUp> runners_up(const std::vector<Priced>& priced);

}  // namespace ppplan::planner
