// Where a chain may be cut when its owner has a say: pinned layers and stages of a given size.
#pragma once

#include "planner/chain_cut.h"
#include "reports/documents/plan.h"

#include <vector>

namespace ppplan::planner {

/// Limits of every boundary: a cut may have cut[s] from least[s] to most[s].
struct CutLimits {
  Cut least;
  Cut most;

  /// What a StageBound says of the stage on their account: 0 where it may stand, kBlocked where it
  /// might with more layers, else kUnreachable.
  [[nodiscard]] double bound(int stage, int first, int last) const;
  [[nodiscard]] bool allow(const Cut& cut) const;
};

/// The limits that pins and layer counts (by stage; empty: any) make for so many stages. Throws
/// Error(kBadInput) when they contradict each other (both are named), the model or the number of
/// stages. O(stages + pins).
CutLimits cut_limits(const std::vector<LayerPin>& pins, const std::vector<int>& layer_counts,
                     int layer_count, int stage_count);

}  // namespace ppplan::planner
