// Where to put the bounds of length buckets.
#pragma once

#include <cstdint>
#include <vector>

namespace ppplan::planner {

/// At most `bucket_count` rising lengths, the last one the longest, for which padding every sample
/// to the next of them computes the fewest tokens; of files with more than 256 distinct lengths,
/// bounds are chosen among 256 of their quantiles. Exact among these. Precondition: lengths is not
/// empty, bucket_count >= 1. O(n log n + 256^2 bucket_count).
std::vector<std::int64_t> least_padding_lengths(const std::vector<std::int64_t>& lengths,
                                                int bucket_count);

}  // namespace ppplan::planner
