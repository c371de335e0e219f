// Judges batching candidates by simulating sampled steps, and tunes one method at a time.
#pragma once

#include "planner/lengths/candidates.h"
#include "planner/lengths/sampled_batches.h"
#include "planner/lengths/step_model.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ppplan::planner {

/// A candidate with what its steps came to.
struct Trial {
  BatchingCandidate candidate;
  BatchingOutcome outcome;
  int rank = 0;   ///< that exceeds its limit most, or comes nearest to it
  Bytes needed;   ///< of that rank
  Bytes allowed;  ///< likewise
  std::optional<std::string>
      refusal;  ///< why the schedule cannot serve it; then nothing else holds

  [[nodiscard]] Bytes excess() const { return needed - allowed; }
  [[nodiscard]] bool fits() const { return !refusal && needed <= allowed; }
};

class Comparison {
 public:
  /// Throws Error(kBadInput) as choose_batching does. The arguments must outlive this.
  Comparison(const Profile& profile, const Planned& planned,
             const std::vector<std::int64_t>& lengths, const BatchingQuestion& question);

  /// The method's fastest candidate that fits, judged on all batches; where none fits, the one that
  /// comes nearest. Refused where the schedule serves none, or what is pinned was not measured.
  Trial best_of(BatchingMethod method);

 private:
  /// Micro-batches of some sampled batches, and of the batch of the longest samples at the end.
  using MadeBatches = std::vector<std::vector<MicroBatch>>;

  [[nodiscard]] const std::vector<std::int64_t>& lengths_of(std::size_t at,
                                                            std::size_t count) const;
  [[nodiscard]] MadeBatches make(const Batching& batching, std::size_t batch_count) const;
  [[nodiscard]] Trial judge(const BatchingCandidate& candidate, const MadeBatches& made);
  /// The memory by either pool, and the rank that matters.
  void judge_memory(Trial& trial, const std::vector<StageCost>& largest,
                    const std::set<int>& micro_batch_counts);
  /// The candidate with the order of micro-batches that makes the first batches fastest.
  [[nodiscard]] BatchingCandidate with_best_order(const Trial& trial);
  void add_stalls(BatchingOutcome& outcome, const MadeBatches& made);

  const BatchingQuestion& question_;
  const std::vector<Bytes>& allowed_;
  StepModel model_;
  CandidateBasis basis_;
  SampledBatches batches_;
  std::size_t tuning_count_ = 0;  ///< the first of them, on which candidates are compared
  std::vector<std::int64_t> longest_batch_;
};

}  // namespace ppplan::planner
