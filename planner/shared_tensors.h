// Parameters that several layers share (tied weights): stored once a rank, reduced across ranks.
#pragma once

#include "planner/cost_table.h"
#include "planner/network.h"
#include "reports/documents/profile.h"

#include <span>
#include <vector>

namespace ppplan::planner {

/// One tensor and the layers that use it: its owner and every layer tied to it.
struct SharedTensor {
  std::vector<int> layers;  ///< rising, at least two
  Bytes parameters;         ///< of one copy, and likewise below
  Bytes gradients;
  Bytes optimizer_state;
  Seconds optimizer{0};         ///< this tensor's part of a layer's optimizer step
  Seconds transfer{0};          ///< of its gradient between two ranks of a node; 0 without a link
  Seconds transfer_between{0};  ///< likewise of different nodes

  /// How many of its layers lie in [first, last). O(log layers).
  [[nodiscard]] int users(int first, int last) const;
};

/// The shared tensors of a model, by owner. A tensor's part of its kind's bytes and optimizer time
/// is its part of the kind's elements. Throws Error(kBadInput) when an owner is not in the model.
/// O(tied x parameters).
std::vector<SharedTensor> shared_tensors(const Profile& profile, const CostTable& costs,
                                         const Network& network);

}  // namespace ppplan::planner
