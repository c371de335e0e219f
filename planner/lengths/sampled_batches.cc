#include "planner/lengths/sampled_batches.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace ppplan::planner {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): the standard library's distributions differ by platform.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9E3779B97F4A7C15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
    return mixed ^ (mixed >> 31U);
  }

  /// Uniform in [0, count): draws of an incomplete last round are repeated.
  std::uint64_t below(std::uint64_t count) {
    const std::uint64_t incomplete = (0 - count) % count;
    std::uint64_t drawn = next();
    while (drawn < incomplete) drawn = next();
    return drawn % count;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

SampledBatches sample_batches(const std::vector<std::int64_t>& lengths, std::int64_t global_batch,
                              int batch_count, std::uint64_t seed) {
  SplitMix random(seed);
  std::vector<std::int64_t> shuffled = lengths;
  std::size_t drawn = 0;
  // Fisher and Yates's shuffle, as far as samples are needed.
  const auto draw = [&] {
    if (drawn == shuffled.size()) drawn = 0;
    const auto other = drawn + static_cast<std::size_t>(random.below(shuffled.size() - drawn));
    std::swap(shuffled[drawn], shuffled[other]);
    return shuffled[drawn++];
  };
  SampledBatches batches(static_cast<std::size_t>(batch_count));
  for (std::vector<std::int64_t>& batch : batches) {
    for (std::int64_t sample = 0; sample < global_batch; ++sample) batch.push_back(draw());
  }
  return batches;
}

std::vector<std::int64_t> longest_batch(const std::vector<std::int64_t>& lengths,
                                        std::int64_t global_batch) {
  std::vector<std::int64_t> sorted = lengths;
  const auto size = static_cast<std::size_t>(global_batch);
  const auto kept = std::min(size, sorted.size());
  std::ranges::partial_sort(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(kept),
                            std::greater<>());
  std::vector<std::int64_t> batch;
  for (std::size_t sample = 0; sample < size; ++sample) batch.push_back(sorted[sample % kept]);
  return batch;
}

}  // namespace ppplan::planner
