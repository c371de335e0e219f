// Times transfers between two ranks and fits latency and bandwidth.
#pragma once

#include "executor/transport/transport.h"
#include "reports/documents/profile.h"

#include <vector>

namespace ppplan::profiler {

/// Least relative squares of latency + size / bandwidth through the samples; both are kept
/// positive. Precondition: at least two sizes.
void fit(Link& link);

/// Ranks 0 and 1 send tensors of each size back and forth; the others wait. A transfer is half a
/// round trip. Meaningful on rank 0. Throws PeerLost.
Link measure_link(executor::Transport& transport, const std::vector<Bytes>& sizes);

/// Likewise with both ranks sending at once and adding what they receive, as shared gradients do.
Link measure_exchange(executor::Transport& transport, const std::vector<Bytes>& sizes);

/// What a rank itself spends on a transfer of this size, whoever waits for it: the mean of posting
/// a send and posting a receive. Meaningful on rank 0. Throws PeerLost.
Seconds measure_posting(executor::Transport& transport, Bytes size);

}  // namespace ppplan::profiler
