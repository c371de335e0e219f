// What a finished run proves: whether it computed what a single process computes, and whether the
// prediction held.
#pragma once

#include "reports/documents/error.h"
#include "reports/documents/plan.h"
#include "reports/documents/run_report.h"

#include <optional>
#include <string>
#include <vector>

namespace ppplan::launch {

/// An Error(kNotVerified) when the loss or a gradient is farther from the reference's than
/// `tolerance` (relative) or is no number; empty when both agree or the run was not verified.
std::optional<Error> not_verified(const RunReport& report, double tolerance);

/// One predicted figure beside its measurement.
struct Miss {
  std::string what;    ///< "step time", "peak memory of rank 1"
  double error = 0.0;  ///< (predicted - measured) / measured
};

/// Step time and each rank's peak memory, those that were both predicted and measured.
std::vector<Miss> misses(const RunReport& report);

/// Sentences about predictions that missed by more than usual: 12 % for the step time, 6 % for
/// memory.
std::vector<std::string> prediction_warnings(const RunReport& report);

/// An Error(kNotVerified) when a figure missed by more than `limit` (0.1 is 10 %).
std::optional<Error> prediction_missed(const RunReport& report, double limit);

/// Sentences about kernels that differ between measuring and running: mismatched attention kernels
/// give other gradients, and all of them other times.
std::vector<std::string> kernel_warnings(const Kernels& planned, const Kernels& used);

/// Memory that a single process needs to run the plan's whole model once forward and backward:
/// parameters and gradients in float32, the activations of one micro-batch, and the largest
/// workspace.
Bytes reference_memory(const Plan& plan);

}  // namespace ppplan::launch
