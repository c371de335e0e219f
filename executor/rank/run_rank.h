// One rank of a run: builds its stages, trains, verifies, and reports what happened.
#pragma once

#include "executor/transport/transport.h"
#include "reports/documents/job.h"
#include "reports/documents/plan.h"
#include "reports/documents/run_report.h"
#include "reports/progress.h"

#include <string>

namespace ppplan::executor {

/// Where a rank is, for the report of a failure.
struct Whereabouts {
  std::string where = "start-up";
};

/// Trains `job.warmup_step_count + job.step_count` steps of `plan` as `transport`'s rank. All ranks
/// call it together. Figures are medians over the measured steps; memory is the peak over them.
/// Throws PeerLost when another rank is gone, Error for everything else; `whereabouts` then says
/// where.
RankReport run_rank(const RunJob& job, const Plan& plan, Transport& transport, Progress& progress,
                    Whereabouts& whereabouts);

/// The single process of the same job: writes reference.safetensors (gradients) into `job.output`.
ReferenceReport run_reference_job(const RunJob& job, const Plan& plan, Progress& progress);

}  // namespace ppplan::executor
