// Measures a model's layers and this machine's links with all local workers together.
#pragma once

#include "executor/transport/transport.h"
#include "reports/documents/job.h"
#include "reports/documents/profile.h"
#include "reports/progress.h"

namespace ppplan::profiler {

/// Runs every kind of layer of `job.model` at every shape of the grid: alone (rank 0, the others
/// asleep) and, when there are several workers, all at once; then optimizer, barrier and links. A
/// row stops when its medians are known to `job.target_spread` or its budget is spent. All ranks
/// call it together; rank 0's result is the profile, the others' is empty. Throws PeerLost, Error.
Profile measure(const ProfileJob& job, executor::Transport& transport, Progress& progress);

}  // namespace ppplan::profiler
