// Keeps tensors that stand on two ranks (a tied embedding and head) equal: their gradients are
// summed.
#pragma once

#include "executor/layers/parameters.h"
#include "executor/transport/transport.h"
#include "reports/documents/plan.h"

#include <string>
#include <vector>

namespace ppplan::executor {

/// A tensor of this rank that `peer` also stores.
struct SharedWeight {
  std::string name;
  int peer = 0;
};

/// The shared tensors of one rank, ordered by name. Throws Error(kBadInput) for one on three ranks.
std::vector<SharedWeight> shared_weights(const Plan& plan, int rank);

/// Waits until every peer's gradients are complete too, so that waiting is not counted as transfer.
/// Throws PeerLost.
void meet_peers(const std::vector<SharedWeight>& shared, Transport& transport);

/// Adds the peer's gradient to ours and ours to the peer's, in chunks so that memory stays small;
/// sums of two floats do not depend on their order, so both ranks hold the same bits. Throws
/// PeerLost.
void reduce_shared_gradients(const std::vector<SharedWeight>& shared, const ParameterStore& store,
                             Transport& transport);

}  // namespace ppplan::executor
