// Global batches drawn from a file of lengths, the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace ppplan::planner {

/// Lengths of the samples of each step of one batch size.
using SampledBatches = std::vector<std::vector<std::int64_t>>;

/// Draws batches as a training does: through a shuffle of all samples, then through the next one.
/// Same seed, same batches on every platform. Precondition: lengths is not empty. O(batches x size
/// + lengths x shuffles).
SampledBatches sample_batches(const std::vector<std::int64_t>& lengths, std::int64_t global_batch,
                              int batch_count, std::uint64_t seed);

/// The batch of the longest samples, each as often as all others where there are too few: what
/// memory must bear.
std::vector<std::int64_t> longest_batch(const std::vector<std::int64_t>& lengths,
                                        std::int64_t global_batch);

}  // namespace ppplan::planner
