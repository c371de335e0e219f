// Medians that say how well they are known.
#pragma once

#include "reports/documents/profile.h"

#include <vector>

namespace ppplan::profiler {

/// Median of `samples_s` and the relative half width of its 95 % confidence interval, from order
/// statistics (binomial ranks, normal approximation; Conover, Practical Nonparametric Statistics,
/// section 3.2). Fewer than 6 samples cannot bound a median at 95 %: the whole range is taken.
Timing summarize(std::vector<double> samples_s);

}  // namespace ppplan::profiler
