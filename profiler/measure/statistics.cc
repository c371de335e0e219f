#include "profiler/measure/statistics.h"

#include <algorithm>
#include <cmath>

namespace ppplan::profiler {

Timing summarize(std::vector<double> samples_s) {
  Timing timing;
  if (samples_s.empty()) return timing;
  std::sort(samples_s.begin(), samples_s.end());
  const std::size_t n = samples_s.size();
  const double median =
      n % 2 == 1 ? samples_s[n / 2] : 0.5 * (samples_s[n / 2 - 1] + samples_s[n / 2]);
  constexpr double kNormal95 = 1.96;
  constexpr std::size_t kLeastForInterval = 6;
  std::size_t low = 0;
  std::size_t high = n - 1;
  if (n >= kLeastForInterval) {
    const double center = static_cast<double>(n) / 2.0;
    const double reach = kNormal95 * std::sqrt(static_cast<double>(n)) / 2.0;
    low = static_cast<std::size_t>(std::max(0.0, std::floor(center - reach)));
    high = std::min(n - 1, static_cast<std::size_t>(std::ceil(center + reach)));
  }
  timing.median = Seconds(median);
  timing.spread = median > 0.0 ? 0.5 * (samples_s[high] - samples_s[low]) / median : 0.0;
  timing.repeats = static_cast<int>(n);
  return timing;
}

}  // namespace ppplan::profiler
