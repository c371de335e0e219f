// Of several workers that ended, which one failed first and why: the message a person needs.
#pragma once

#include "executor/launch/process_group.h"
#include "reports/documents/error.h"
#include "reports/documents/job.h"

#include <optional>
#include <string>
#include <vector>

namespace ppplan::launch {

struct WorkerEnd {
  std::string name;  ///< "rank 1 (stage 1, layers 3-5)"
  ProcessEnd process;
  std::optional<RankFailure> failure;  ///< what it left behind, if it did
};

/// The cause, not its consequences. In this order: a worker that something outside killed
/// (SIGKILL); of those that failed by themselves, the earliest; of those that only lost a peer, the
/// earliest. Workers that were told to stop count only when there is no other. The error's failure
/// is kBadInput when the worker said so, else kRuntime. Precondition: at least one did not succeed.
Error first_failure(const std::vector<WorkerEnd>& workers);

}  // namespace ppplan::launch
