// A run report for people, and the same for programs.
#pragma once

#include "reports/documents/run_report.h"
#include "reports/render/table.h"

#include <string>

namespace ppplan::render {

/// Per rank and quantity: predicted, measured, and the error (predicted - measured) / measured;
/// then the step, the loss, and what was verified against what. Warnings are not repeated.
std::string run_view(const RunReport& report, const TableOptions& options);

/// The whole report as JSON; keys as in report.yaml.
std::string run_json(const RunReport& report);

}  // namespace ppplan::render
