// From the lengths of a step's samples to its micro-batches, by the rule that a plan's `batching:`
// section states. Planner and executor call the same function, so that what is planned is what is
// run. Depends on nothing but its arguments.
#pragma once

#include "reports/documents/batching.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ppplan::planner {

/// A micro-batch: a tensor of `row_count` rows of `row_length` tokens.
struct MicroBatch {
  /// Indices into the step's lengths: one a row, padded to row_length; or, packed, all of them end
  /// to end in one row.
  std::vector<int> samples;
  int row_count = 0;
  std::int64_t row_length = 0;
  std::int64_t tokens = 0;  ///< real ones

  [[nodiscard]] std::int64_t padded_tokens() const { return row_count * row_length; }
};

/// The micro-batches of a step in the order in which they run. Every sample is in exactly one.
///   padded:   `micro_batch` samples each, as they come; the last may have fewer. Rows as long as
///   the
///             step's longest sample.
///   bucketed: samples of one bucket, as they come, `samples` of the bucket each; rows of the
///             bucket's length.
///   packed:   first-fit decreasing (Johnson 1973) into rows of at most `max_tokens`.
///   dynamic:  see dynamic_batching.h; rows as long as the micro-batch's longest sample.
/// A sample longer than `max_tokens` is alone. `rank_count`: ranks of the pipeline (dynamic).
/// Precondition: `batching` passes validate(). Throws Error(kBadInput) for a length below 1 or
/// above `longest`. Deterministic. O(n log n), dynamic as stated there.
std::vector<MicroBatch> make_micro_batches(std::span<const std::int64_t> lengths,
                                           const Batching& batching, int rank_count);

/// Puts micro-batches into the order of `batching`: what make_micro_batches does last.
std::vector<MicroBatch> in_order(std::vector<MicroBatch> made, const Batching& batching);

/// What the mean loss of each micro-batch weighs in the step's loss: its share of the tokens that
/// have a next one to predict. 0 for a micro-batch without any; adds up to 1 unless all are so.
std::vector<double> loss_weights(std::span<const MicroBatch> micro_batches);

}  // namespace ppplan::planner
