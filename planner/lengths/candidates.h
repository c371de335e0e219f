// The settings of each batching method that are worth comparing.
#pragma once

#include "planner/lengths/choose_batching.h"
#include "planner/schedule/shape_grid.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppplan::planner {

/// A method with its parameters, not yet compared.
struct BatchingCandidate {
  Batching batching;
  std::string setting;  ///< the parameters in words
};

/// What candidates are made from.
struct CandidateBasis {
  const std::vector<std::int64_t>* lengths = nullptr;
  const BatchingQuestion* question = nullptr;
  const ShapeGrid* grid = nullptr;
  std::vector<ShapeTimes> times;  ///< StageSurface::slowest_times()
  int rank_count = 1;
  int batch_count = 0;  ///< sampled
};

/// Micro-batch sizes (padded), bucket bounds with sizes (bucketed) or token budgets (packed,
/// dynamic): budgets that give a step of mean size from one to sixteen micro-batches a rank, as far
/// as shapes were measured. Pinned ones only where the question pins them. Empty when what is
/// pinned was not measured.
std::vector<BatchingCandidate> batching_candidates(BatchingMethod method,
                                                   const CandidateBasis& basis);

}  // namespace ppplan::planner
