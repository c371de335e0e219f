// Why no plan fits, and the least change that would make one fit.
#pragma once

#include "planner/question.h"

#include <memory>
#include <string>

namespace ppplan::planner {

/// The cut, among all candidates of a question, that comes nearest to fitting.
struct NearestFit {
  std::shared_ptr<const Candidate> candidate;
  Cut cut;
  std::string schedule;
  int micro_batch = 0;
  int rank_count = 0;
  int rank = 0;  ///< that exceeds its limit most, or comes nearest to it
  Bytes needed;
  Bytes kept;  ///< of `needed`: parameters, gradients, optimizer state
  Bytes allowed;
  [[nodiscard]] bool fits() const { return needed <= allowed; }
};

/// Minimizes, over candidates and cuts, the largest excess of a rank over its limit: the dynamic
/// programme of least_bottleneck over bytes. Exact where all boundary tensors have one size and a
/// rank has one stage, or the chain is short; of very many sizes a few are looked at. Throws
/// Error(kBadInput) when no schedule serves.
NearestFit nearest_fit(const Question& question);

/// Explains a question that no plan fits; `nearest` of it does not. Remedies are found by asking
/// again: fewer samples a micro-batch, more stages, another schedule, a shorter sequence, more
/// memory.
Infeasible explain_infeasible(const Question& question, const NearestFit& nearest);

}  // namespace ppplan::planner
