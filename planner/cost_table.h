// What each kind of layer costs at any micro-batch size between the measured ones.
#pragma once

#include "reports/documents/node.h"
#include "reports/documents/profile.h"

#include <cstdint>
#include <map>
#include <vector>

namespace ppplan::planner {

/// One layer, one micro-batch. Fields as in Measurement.
struct LayerCost {
  Seconds forward{0};
  Seconds backward{0};
  Seconds backward_input{0};
  Seconds backward_weight{0};
  Bytes saved;
  Bytes forward_peak;
  Bytes backward_peak;
  Bytes weight_pending;
  Bytes output;
};

/// The rows of a profile that suit one sequence length and one number of busy workers.
///
/// Which rows: without tensor parallelism and recompute, and measured while `rank_count` local
/// workers (at most the profile's devices: further ranks stand on machines alike) were busy. Where
/// that number was not measured, the next larger one counts, else the largest. Between measured
/// micro-batch sizes and sequences costs are interpolated linearly, over sequences first (attention
/// is convex in the sequence, so that in-between is told rather too slow); beyond them there are
/// none.
class CostTable {
 public:
  /// Throws Error(kBadInput) when a kind that layers use has no rows, none around `sequence`, or
  /// has parameters and no row of the optimizer.
  CostTable(const Profile& profile, std::int64_t sequence, int rank_count);

  /// Micro-batch sizes that every kind of the model has costs for; empty when least > most.
  [[nodiscard]] IntegerRange micro_batches() const { return micro_batches_; }

  /// Precondition: `micro_batch` is within micro_batches() and a layer is of this kind.
  /// O(log measured sizes).
  [[nodiscard]] LayerCost layer(int kind, int micro_batch) const;

  /// The optimizer's row of a kind, by the same rule of workers; all zero for one without
  /// parameters.
  [[nodiscard]] const OptimizerCost& optimizer(int kind) const;

 private:
  std::vector<std::map<int, LayerCost>> costs_;  ///< [kind], by measured micro-batch size
  std::vector<OptimizerCost> optimizer_;         ///< [kind]
  IntegerRange micro_batches_;
};

/// Sequence lengths with rows, rising. Empty when the profile has no rows.
std::vector<std::int64_t> measured_sequences(const Profile& profile);

/// Micro-batch sizes with rows at any sequence, rising.
std::vector<int> measured_micro_batches(const Profile& profile);

}  // namespace ppplan::planner
