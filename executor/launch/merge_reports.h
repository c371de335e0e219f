// From what each rank measured to the one report of a run.
#pragma once

#include "reports/documents/job.h"
#include "reports/documents/plan.h"
#include "reports/documents/run_report.h"

#include <optional>
#include <string>
#include <vector>

namespace ppplan::launch {

/// What a run left behind.
struct RunResults {
  std::string plan_sha256;
  std::vector<RankReport> ranks;             ///< one for each rank of the plan, in order
  std::optional<ReferenceReport> reference;  ///< when the run was verified
  Kernels kernels;                           ///< those of the run
  std::vector<std::string> warnings;
};

/// Predicted beside measured. A step lasts as long as its slowest rank; times are medians over the
/// measured steps. Predictions of a stage are for all its micro-batches, a smaller one counting by
/// its samples. Throws Error(kRuntime) when ranks are missing or disagree about the number of
/// steps. O(ranks * steps).
RunReport merge_reports(const Plan& plan, const RunJob& job, const RunResults& results);

}  // namespace ppplan::launch
