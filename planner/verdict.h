// Whether pipelining is worth it against one device, and what a step's time goes to.
#pragma once

#include "planner/partition.h"
#include "planner/plan_writer.h"
#include "planner/question.h"
#include "planner/rivals.h"

#include <optional>
#include <vector>

namespace ppplan::planner {

/// Compares a plan with the best that the same devices do without a pipeline, in one sentence: by
/// how much, what costs most beside the layers' work, and what would change the answer (links from
/// a tenth to ten times as fast, batches from a quarter to four times as large, the layouts kept).
/// `pipeline`: of a plan without one, the best pipeline's step, where there is one.
Verdict judge_plan(const Question& question, const PartitionOptions& options, const Priced& best,
                   const Evaluation& evaluation, const std::vector<RivalPlan>& rivals,
                   std::optional<Seconds> pipeline);

}  // namespace ppplan::planner
