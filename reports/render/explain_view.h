// Shows why a plan is as it is to people, and the same facts as JSON.
#pragma once

#include "reports/documents/explanation.h"
#include "reports/documents/plan.h"
#include "reports/render/table.h"

#include <string>

namespace ppplan::render {

/// What binds, where a step's time goes, what a relief would bring, each boundary one layer
/// elsewhere, why runners-up lost, trainers' default splits, what a change would bring. Not wider
/// than options.width where that is at least 100. Neighbouring boundaries alike share a row; of
/// more than 32 rows the first and the last are shown.
std::string explanation_text(const Plan& plan, const Explanation& explanation,
                             const TableOptions& options = {});

/// One object: every figure, keys with units, nothing shortened.
std::string explanation_json(const Plan& plan, const Explanation& explanation);

}  // namespace ppplan::render
