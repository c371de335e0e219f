#include "planner/lengths/bucket_lengths.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace ppplan::planner {
namespace {

constexpr std::size_t kBoundCount = 256;

/// A bound that may be chosen, and how many samples are no longer.
struct Bound {
  std::int64_t length = 0;
  std::int64_t samples = 0;
};

std::vector<Bound> possible_bounds(std::vector<std::int64_t> lengths) {
  std::ranges::sort(lengths);
  std::vector<Bound> distinct;
  for (std::size_t sample = 0; sample < lengths.size(); ++sample) {
    const bool last = sample + 1 == lengths.size() || lengths[sample + 1] != lengths[sample];
    if (last) distinct.push_back({lengths[sample], static_cast<std::int64_t>(sample) + 1});
  }
  if (distinct.size() <= kBoundCount) return distinct;
  std::vector<Bound> chosen;
  for (const Bound& bound : distinct) {
    // The first bound that reaches the next quantile.
    const auto reached = static_cast<std::size_t>(bound.samples) * kBoundCount / lengths.size();
    const std::size_t before = chosen.empty() ? 0
                                              : static_cast<std::size_t>(chosen.back().samples) *
                                                    kBoundCount / lengths.size();
    if (reached > before) chosen.push_back(bound);
  }
  return chosen;
}

}  // namespace

std::vector<std::int64_t> least_padding_lengths(const std::vector<std::int64_t>& lengths,
                                                int bucket_count) {
  const std::vector<Bound> bounds = possible_bounds(lengths);
  const std::size_t count = bounds.size();
  const std::size_t most = std::min(static_cast<std::size_t>(bucket_count), count);
  // least[k][i]: tokens of the samples up to bound i in k + 1 buckets, the last one ending there.
  std::vector<std::vector<double>> least(most, std::vector<double>(count));
  std::vector<std::vector<std::size_t>> before(most, std::vector<std::size_t>(count));
  for (std::size_t bound = 0; bound < count; ++bound) {
    const auto length = static_cast<double>(bounds[bound].length);
    least[0][bound] = length * static_cast<double>(bounds[bound].samples);
    for (std::size_t buckets = 1; buckets < most; ++buckets) {
      least[buckets][bound] = std::numeric_limits<double>::infinity();
      for (std::size_t last = buckets - 1; last < bound; ++last) {
        const auto own = static_cast<double>(bounds[bound].samples - bounds[last].samples);
        const double tokens = least[buckets - 1][last] + length * own;
        if (tokens >= least[buckets][bound]) continue;
        least[buckets][bound] = tokens;
        before[buckets][bound] = last;
      }
    }
  }
  std::vector<std::int64_t> chosen;
  std::size_t bound = count - 1;
  for (std::size_t buckets = most; buckets-- > 0; bound = before[buckets][bound]) {
    chosen.push_back(bounds[bound].length);
  }
  std::ranges::reverse(chosen);
  return chosen;
}

}  // namespace ppplan::planner
