#include "planner/lengths/candidates.h"

#include "planner/lengths/bucket_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>

namespace ppplan::planner {
namespace {

constexpr int kBucketCounts[] = {4, 8, 16};
constexpr double kMicroBatchesPerRank[] = {1, 1.5, 2, 3, 4, 6, 8, 12, 16};

std::int64_t longest_of(const CandidateBasis& basis) {
  return std::ranges::max(*basis.lengths);
}

Batching batching_of(BatchingMethod method, const CandidateBasis& basis) {
  return {.method = method,
          .memory_pool = basis.question->memory_pool,
          .longest = longest_of(basis),
          .packed_cost = basis.times.size() > 1 ? PackedCost::kBySample : PackedCost::kByTokens,
          .sampled_batches = basis.batch_count,
          .seed = basis.question->seed};
}

/// Token budgets, rising.
std::vector<std::int64_t> budgets(const CandidateBasis& basis) {
  if (basis.question->max_tokens) return {*basis.question->max_tokens};
  const std::int64_t most = basis.grid->most_tokens();
  const double total = std::accumulate(basis.lengths->begin(), basis.lengths->end(), 0.0);
  const double step = total / static_cast<double>(basis.lengths->size()) *
                      static_cast<double>(basis.question->global_batch);
  std::set<std::int64_t> budgets{std::min(longest_of(basis), most), most};
  for (const double a_rank : kMicroBatchesPerRank) {
    const double share = std::ceil(step / (a_rank * basis.rank_count));
    budgets.insert(std::min(most, static_cast<std::int64_t>(share)));
  }
  return {budgets.begin(), budgets.end()};
}

/// Samples of a length that a budget holds, within the measured shapes.
int samples_within(std::int64_t budget, std::int64_t length, const CandidateBasis& basis) {
  const auto most = static_cast<std::int64_t>(basis.grid->most_samples(length));
  return static_cast<int>(std::clamp<std::int64_t>(budget / length, 1, most));
}

/// Every size at first, then each a quarter larger.
std::vector<int> padded_sizes(const CandidateBasis& basis) {
  const std::int64_t longest = longest_of(basis);
  const int measured = basis.grid->most_samples(longest);
  if (basis.question->micro_batch) {
    const int pinned = *basis.question->micro_batch;
    if (pinned > measured) return {};
    return {pinned};
  }
  if (basis.question->max_tokens) {
    return {samples_within(*basis.question->max_tokens, longest, basis)};
  }
  const auto most =
      static_cast<int>(std::min<std::int64_t>(measured, basis.question->global_batch));
  std::vector<int> sizes;
  for (int size = 1; size < most; size = std::max(size + 1, size / 4 * 5)) sizes.push_back(size);
  sizes.push_back(most);
  return sizes;
}

std::string plural(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::vector<BatchingCandidate> padded(const CandidateBasis& basis) {
  std::vector<BatchingCandidate> made;
  for (const int size : padded_sizes(basis)) {
    made.push_back({batching_of(BatchingMethod::kPadded, basis), plural(size, "sample")});
    made.back().batching.micro_batch = size;
  }
  return made;
}

std::vector<BatchingCandidate> bucketed(const CandidateBasis& basis) {
  std::vector<BatchingCandidate> made;
  for (const int bucket_count : kBucketCounts) {
    const std::vector<std::int64_t> bounds = least_padding_lengths(*basis.lengths, bucket_count);
    for (const std::int64_t budget : budgets(basis)) {
      Batching batching = batching_of(BatchingMethod::kBucketed, basis);
      for (const std::int64_t length : bounds) {
        batching.buckets.push_back({length, samples_within(budget, length, basis)});
      }
      const bool known = std::ranges::any_of(made, [&](const BatchingCandidate& other) {
        return other.batching.buckets == batching.buckets;
      });
      if (known) continue;
      made.push_back(
          {std::move(batching),
           fmt::format("{} of {} tokens", plural(std::ssize(bounds), "bucket"), budget)});
    }
  }
  return made;
}

std::vector<BatchingCandidate> budgeted(BatchingMethod method, const CandidateBasis& basis) {
  std::vector<BatchingCandidate> made;
  for (const std::int64_t budget : budgets(basis)) {
    made.push_back({batching_of(method, basis), plural(budget, "token")});
    made.back().batching.max_tokens = budget;
    if (method == BatchingMethod::kDynamic) made.back().batching.times = basis.times;
  }
  return made;
}

}  // namespace

std::vector<BatchingCandidate> batching_candidates(BatchingMethod method,
                                                   const CandidateBasis& basis) {
  switch (method) {
    case BatchingMethod::kPadded:
      return padded(basis);
    case BatchingMethod::kBucketed:
      return bucketed(basis);
    case BatchingMethod::kPacked:
    case BatchingMethod::kDynamic:
      break;
  }
  return budgeted(method, basis);
}

}  // namespace ppplan::planner
