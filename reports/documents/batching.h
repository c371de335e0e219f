// The plan's `batching:` section: how a step's samples of different lengths become micro-batches,
// with everything that whoever makes them needs, and how the methods compared.
#pragma once

#include "reports/documents/mapping.h"
#include "reports/documents/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppplan {

/// How samples become micro-batches.
enum class BatchingMethod {
  kPadded,    ///< micro-batches of a fixed size, padded to the step's longest sample
  kBucketed,  ///< samples of similar length together, padded to their bucket's length
  kPacked,    ///< samples end to end in one row; attention stays within a sample
  kDynamic    ///< neighbours in order of length, by dynamic programming over times
};

/// Whether a rank's buffers are all made for the largest micro-batch, or each for its own.
enum class MemoryPool { kStatic, kDynamic };

/// Which end of a group of micro-batches runs first.
enum class RunOrder { kRising, kFalling };

/// What a row of several samples was taken to cost.
enum class PackedCost {
  kBySample,  ///< attention by each sample's length, the rest by tokens
  kByTokens   ///< all as long as the profile's one length: it cannot tell shorter ones apart
};

/// Names of the enumerators above, by value.
const std::vector<std::string>& batching_method_words();
const std::vector<std::string>& memory_pool_words();
const std::vector<std::string>& run_order_words();
const std::vector<std::string>& packed_cost_words();

/// Samples up to `length` tokens, `samples` of them in a micro-batch.
struct LengthBucket {
  std::int64_t length = 0;
  int samples = 0;
  bool operator==(const LengthBucket&) const = default;
};

/// The slowest rank's time for micro-batches of samples padded to one length.
struct ShapeTimes {
  std::int64_t length = 0;
  std::vector<int> samples;    ///< rising
  std::vector<Seconds> times;  ///< forward and backward, by `samples`
  bool operator==(const ShapeTimes&) const = default;
};

/// What a method came to over the batches that were sampled.
struct BatchingOutcome {
  BatchingMethod method = BatchingMethod::kPadded;
  std::string setting;              ///< "4 samples", "8192 tokens"
  double micro_batch_count = 0.0;   ///< mean of a step
  double tokens_per_s = 0.0;        ///< real tokens
  double padding_efficiency = 0.0;  ///< real tokens / tokens computed
  Seconds step{0};                  ///< mean
  /// Mean time that a step loses because its micro-batches differ: against the step whose
  /// micro-batches all take their mean time.
  Seconds stall{0};
  /// By rank: how much longer it waits between its first and last action than in that even step.
  std::vector<Seconds> rank_stalls;
  std::vector<Bytes> static_peaks;   ///< by rank: every buffer made for the largest micro-batch
  std::vector<Bytes> dynamic_peaks;  ///< by rank: every buffer made for its own
  std::string reason;                ///< why it is not the plan's; empty for that one
  bool operator==(const BatchingOutcome&) const = default;
};

struct Batching {
  BatchingMethod method = BatchingMethod::kPadded;
  MemoryPool memory_pool = MemoryPool::kDynamic;
  std::int64_t longest = 0;           ///< tokens of the longest sample there may be
  int micro_batch = 0;                ///< padded: samples of a micro-batch
  std::vector<LengthBucket> buckets;  ///< bucketed: lengths rise, the last one's is `longest`
  /// Packed and dynamic: padded tokens of a micro-batch; a longer sample is alone.
  std::int64_t max_tokens = 0;
  std::vector<ShapeTimes> times;  ///< dynamic: lengths rise; most samples never rise with them
  /// Micro-batches sorted by size fall into thirds, 0 the smallest; the thirds run in this order.
  std::vector<int> order = {0, 1, 2};
  RunOrder order_within = RunOrder::kRising;  ///< of each third
  PackedCost packed_cost = PackedCost::kBySample;
  int sampled_batches = 0;
  std::uint64_t seed = 0;
  std::int64_t cut_samples = 0;  ///< samples of the file that are cut to `longest`
  std::vector<BatchingOutcome> compared;
  bool operator==(const Batching&) const = default;
};

void describe(MappingReader& io, Batching& batching);
void describe(MappingWriter& io, const Batching& batching);
/// Throws Error(kBadInput) unless the method has its parameters, and they are ones that
/// planner/schedule/micro_batching.h can follow.
void validate(const Batching& batching, const Fields& fields);

}  // namespace ppplan
