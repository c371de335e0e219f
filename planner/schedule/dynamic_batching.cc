#include "planner/schedule/dynamic_batching.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace ppplan::planner {
namespace {

constexpr double kUnreachable = std::numeric_limits<double>::infinity();

/// Divides with a limit on the runs' times. Times in seconds.
class LimitedDivision {
 public:
  LimitedDivision(std::span<const std::int64_t> lengths, const TimeSurface& times,
                  std::int64_t max_tokens)
      : count_(lengths.size()), least_sum_(count_ + 1), last_size_(count_ + 1) {
    first_.push_back(0);
    for (std::size_t end = 1; end <= count_; ++end) {
      const std::int64_t longest = lengths[end - 1];
      const auto most = std::min<std::int64_t>(times.grid().most_samples(longest),
                                               std::max<std::int64_t>(1, max_tokens / longest));
      const auto size_count = std::min(end, static_cast<std::size_t>(most));
      double shortest = kUnreachable;
      for (std::size_t size = 1; size <= size_count; ++size) {
        times_s_.push_back(times.at(static_cast<int>(size), longest).count());
        shortest = std::min(shortest, times_s_.back());
      }
      first_.push_back(times_s_.size());
      least_slowest_ = std::max(least_slowest_, shortest);
    }
  }

  /// No division's slowest run is faster.
  [[nodiscard]] double least_slowest() const { return least_slowest_; }

  /// The division of least sum whose runs take at most `limit`; empty when there is none. O(n w).
  [[nodiscard]] std::optional<SampleRuns> least_sum(double limit) {
    least_sum_[0] = 0.0;
    for (std::size_t end = 1; end <= count_; ++end) {
      const std::size_t first = first_[end - 1];
      const std::size_t size_count = first_[end] - first;
      double best = kUnreachable;
      std::size_t best_size = 0;
      for (std::size_t size = 1; size <= size_count; ++size) {
        const double time = times_s_[first + size - 1];
        const double sum = least_sum_[end - size] + time;
        if (time <= limit && sum < best) {
          best = sum;
          best_size = size;
        }
      }
      least_sum_[end] = best;
      last_size_[end] = best_size;
    }
    if (least_sum_[count_] == kUnreachable) return std::nullopt;
    return trace_back();
  }

 private:
  [[nodiscard]] SampleRuns trace_back() const {
    SampleRuns runs{.ends = {}, .slowest = Seconds(0), .sum = Seconds(least_sum_[count_])};
    for (std::size_t end = count_; end > 0; end -= last_size_[end]) {
      runs.ends.push_back(end);
      const double time = times_s_[first_[end - 1] + last_size_[end] - 1];
      runs.slowest = std::max(runs.slowest, Seconds(time));
    }
    std::ranges::reverse(runs.ends);
    return runs;
  }

  std::size_t count_;
  /// Of the run of `size` samples that ends before `end`: [first_[end - 1] + size - 1].
  std::vector<double> times_s_;
  std::vector<std::size_t> first_;
  double least_slowest_ = 0.0;
  std::vector<double> least_sum_;       ///< of the samples before the index
  std::vector<std::size_t> last_size_;  ///< of the last run of that division
};

/// Slowest times in [least, below) that may improve on the best; none of their divisions has a sum
/// below `sum`, which is that of the best at `below`.
struct LimitRange {
  double least = 0.0;
  double below = 0.0;
  double sum = 0.0;
};

}  // namespace

SampleRuns divide_samples(std::span<const std::int64_t> lengths, const TimeSurface& times,
                          std::int64_t max_tokens, int rank_count) {
  if (lengths.empty()) return {};
  LimitedDivision division(lengths, times, max_tokens);
  const double others = rank_count - 1;
  SampleRuns best;
  double best_cost = kUnreachable;
  // The sum falls as the limit rises, in steps: the limit is halved until no step can matter.
  const auto try_limit = [&](double limit) -> std::optional<LimitRange> {
    std::optional<SampleRuns> runs = division.least_sum(limit);
    if (!runs) return std::nullopt;
    const LimitRange tried{0.0, runs->slowest.count(), runs->sum.count()};
    if (const double cost = others * tried.below + tried.sum; cost < best_cost) {
      best_cost = cost;
      best = std::move(*runs);
    }
    return tried;
  };
  std::vector<LimitRange> open;
  const auto keep = [&](double least, const LimitRange& tried) {
    if (least < tried.below) open.push_back({least, tried.below, tried.sum});
  };
  keep(division.least_slowest(), *try_limit(kUnreachable));
  while (!open.empty()) {
    const LimitRange range = open.back();
    open.pop_back();
    if (others * range.least + range.sum >= best_cost) continue;
    const auto upper = try_limit(std::nextafter(range.below, 0.0));
    if (!upper || upper->below <= range.least) continue;
    const double middle = range.least + (upper->below - range.least) / 2;
    const auto lower = try_limit(middle);
    keep(middle, *upper);
    if (lower) keep(range.least, *lower);
  }
  return best;
}

}  // namespace ppplan::planner
