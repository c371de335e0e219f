// Micro-batches by dynamic programming over samples sorted by length: the construction of DynaPipe
// (Jiang et al., "DynaPipe: Optimizing Multi-task Training through Dynamic Pipelines", EuroSys
// 2024).
#pragma once

#include "planner/schedule/shape_grid.h"
#include "reports/documents/units.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ppplan::planner {

/// A division of sorted samples into runs of neighbours, each a micro-batch.
struct SampleRuns {
  std::vector<std::size_t> ends;  ///< run i is samples [ends[i - 1], ends[i])
  Seconds slowest{0};             ///< of the runs' times
  Seconds sum{0};
};

/// The division that minimizes
///
///     (c - 1) max(t) + sum(t),   c = rank_count, t = times of the runs at (samples, longest),
///
/// the length of a pipeline whose ranks all take t. Runs have at most `max_tokens` padded tokens,
/// unless they are single samples, and lie within the measured shapes. Exact: DynaPipe tries
/// slowest times at intervals and minimizes the sum under each; here only such times are passed
/// over that cannot improve on the best. Precondition: `lengths` rise and are at most
/// times.grid().longest(). O(n w) a slowest time tried, w = most samples of a micro-batch; some
/// dozens are tried.
SampleRuns divide_samples(std::span<const std::int64_t> lengths, const TimeSurface& times,
                          std::int64_t max_tokens, int rank_count);

}  // namespace ppplan::planner
