// What each kind of layer costs at any micro-batch size between the measured ones.
#pragma once

#include "planner/network.h"
#include "reports/documents/node.h"
#include "reports/documents/profile.h"

#include <array>
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

/// Which rows of a profile a table is made of.
struct RowChoice {
  std::int64_t sequence = 0;
  Sharding sharding;
  std::int64_t recompute_chunk = 0;  ///< tokens a piece; 0: all at once
  int device_count = 1;              ///< that are busy at once
  bool forward_only = false;         ///< inference: nothing is kept, nothing goes back
};

/// The rows of a profile that suit one sequence length, one sharding, one size of recomputed pieces
/// and one number of busy workers.
///
/// Which rows: measured while `device_count` local workers (at most the profile's devices: further
/// ones stand on machines alike) were busy. Where that number was not measured, the next larger one
/// counts, else the largest. A kind without rows of a recompute option around the sequence does not
/// recompute so; one without rows of the piece's size is computed all at once. Collectives are
/// priced and added to the times. Where a layer that recomputes was measured to be faster than
/// without, it counts as just as fast: work that is done twice does not save time. Between measured
/// micro-batch sizes and sequences costs are interpolated linearly, over sequences first (attention
/// is convex in the sequence, so that in-between is told rather too slow); beyond them there are
/// none.
class CostTable {
 public:
  /// Throws Error(kBadInput) when a kind that layers use has no rows, none around the sequence, or
  /// has parameters and no row of the optimizer. `network` and `geometry` price collectives.
  CostTable(const Profile& profile, const RowChoice& rows, const Network& network,
            const Geometry& geometry);
  /// Of layers that are not shared between devices.
  CostTable(const Profile& profile, std::int64_t sequence, int device_count)
      : CostTable(profile, {.sequence = sequence, .device_count = device_count}, Network(profile),
                  Geometry({}, device_count, device_count)) {}

  /// Micro-batch sizes that every kind of the model has costs for; empty when least > most.
  [[nodiscard]] IntegerRange micro_batches() const { return micro_batches_; }

  /// Precondition: `micro_batch` is within micro_batches() and a layer is of this kind.
  /// O(log measured sizes).
  [[nodiscard]] LayerCost layer(int kind, int micro_batch) const {
    return layer(kind, micro_batch, Recompute::kNone);
  }
  /// The same where the layer recomputes; without, where it was not measured so at this size.
  [[nodiscard]] LayerCost layer(int kind, int micro_batch, Recompute recompute) const;

  /// The optimizer's row of a kind, by the same rule of workers; all zero for one without
  /// parameters.
  [[nodiscard]] const OptimizerCost& optimizer(int kind) const;

 private:
  using Row = std::map<int, LayerCost>;  ///< by measured micro-batch size

  std::array<std::vector<Row>, kRecomputeCount> costs_;  ///< [recompute][kind]
  std::vector<OptimizerCost> optimizer_;                 ///< [kind]
  IntegerRange micro_batches_;
};

/// Sequence lengths with rows, rising. Empty when the profile has no rows.
std::vector<std::int64_t> measured_sequences(const Profile& profile);

/// Micro-batch sizes with rows at any sequence, rising.
std::vector<int> measured_micro_batches(const Profile& profile);

}  // namespace ppplan::planner
