// Compares a rank's gradients with the single process's.
#pragma once

#include "executor/layers/parameters.h"
#include "executor/layers/weight_files.h"
#include "reports/documents/run_report.h"

namespace ppplan::executor {

/// Every gradient of `store` against the tensor of the same name in `reference`. A tensor passes
/// when
/// ||g - ref|| <= tolerance * ||ref||, or when both norms are below 1e-10: it takes no gradient.
/// Throws Error(kBadInput) when a tensor is missing.
GradientCheck check_gradients(const ParameterStore& store, const WeightFiles& reference,
                              double tolerance);

}  // namespace ppplan::executor
