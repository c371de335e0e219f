// What a worker process sets up for itself, and with what it computes.
#pragma once

#include "reports/documents/job.h"
#include "reports/documents/profile.h"
#include "reports/documents/worker_versions.h"

namespace ppplan::executor {

/// Counts memory, sets the number of threads and flushes denormals (an optimizer's squares decay
/// into them, and each then costs a trap). Call first, on the thread that computes.
void prepare_process(const WorkerPlacement& placement);

/// Pins the calling thread, and threads it makes from now on, to the placement's cores. Call after
/// the transport is made: its own threads then stay free to run on a core that waits. Throws
/// Error(kRuntime) for a core this process may not use.
void pin(const WorkerPlacement& placement);

/// Versions and kernels of this process.
WorkerVersions worker_versions();
Kernels kernels_of(const WorkerPlacement& placement);

/// The device one pinned worker is, with its share of the machine's memory.
Device device_of(const WorkerPlacement& placement, int worker, int worker_count);

}  // namespace ppplan::executor
