// The two views of an inspected model: a table for people, JSON for programs.
#pragma once

#include "profiler/models/counts.h"
#include "profiler/models/load.h"
#include "reports/render/table.h"

#include <string>

namespace ppplan::cli {

/// Layers in order, runs of equal ones folded into a row, with totals and notes; 100 columns at
/// most unless a name is longer.
std::string inspect_table(const Model& model, const profiler::CountOptions& counts,
                          render::Style style);

/// Every kind with its tensors and counts, every layer, the totals and the warnings.
std::string inspect_json(const profiler::LoadedModel& loaded, const profiler::CountOptions& counts);

}  // namespace ppplan::cli
