// What a stage recomputes so that its rank's memory suffices, at the least added time.
#pragma once

#include "planner/chain_costs.h"

#include <functional>
#include <optional>
#include <vector>

namespace ppplan::planner {

/// Whether a choice fits its rank.
using ChoiceFits = std::function<bool(const RecomputeChoice&)>;

/// The choice for layers [first, last) of one stage, none recomputing more than `most`, that adds
/// the least time to a micro-batch's backward and fits; empty when none does. Nothing is chosen
/// ({}) where nothing need be.
///
/// A multiple-choice knapsack over the layers (AdaPipe: Sun et al., ASPLOS 2024, section 4), with
/// equal layers merged: what counts is how many of a kind recompute fully, how many selectively.
/// Of equal layers the first in the stage recompute most: their backward comes last, when the
/// others' activations are gone, so that what it holds meanwhile hurts least. Exact by enumeration
/// of these counts, where recomputing one more layer of a kind never needs more memory than
/// recomputing one less (but for none against one, which is tried); beyond some ten thousand
/// combinations (several kinds of layers, tens of each) kinds are taken one after the other, most
/// bytes for the added time first.
std::optional<RecomputeChoice> least_recompute(const ChainCosts& chain, int first, int last,
                                               Recompute most, const ChoiceFits& fits);

/// That, or the fewest layers that fit when they recompute fully in segments of 2, 4, 8, ...:
/// longer ones keep fewer inputs, and more while one is computed again. Of equal ones the shortest.
std::optional<RecomputeChoice> least_segmented_recompute(const ChainCosts& chain, int first,
                                                         int last, Recompute most,
                                                         const ChoiceFits& fits);

/// Everything recomputed that can be, up to `most`, in segments of so many layers.
RecomputeChoice most_recompute(const ChainCosts& chain, int first, int last, Recompute most,
                               int segment = 1);

inline constexpr int kLongestSegment = 64;

/// Choices from nothing to everything recomputed, each with one layer more: first selectively, then
/// fully. For ranks of several stages.
class RecomputeLadder {
 public:
  /// The stages of a rank, in the order in which recomputing helps most.
  RecomputeLadder(const ChainCosts& chain, std::vector<LayerRun> stages, Recompute most);
  [[nodiscard]] int rung_count() const { return static_cast<int>(rungs_.size()) + 1; }
  /// By stage. Precondition: 0 <= rung < rung_count().
  [[nodiscard]] std::vector<RecomputeChoice> at(int rung) const;

 private:
  struct Rung {
    std::size_t stage = 0;
    int layer = 0;
    Recompute recompute = Recompute::kNone;
  };

  std::vector<LayerRun> stages_;
  std::vector<Rung> rungs_;
};

/// What a choice adds to one micro-batch's backward.
Seconds added_time(const ChainCosts& chain, const RecomputeChoice& choice);

}  // namespace ppplan::planner
