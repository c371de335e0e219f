// Where a step's time goes, and whether pipelining is worth it against one device.
#pragma once

#include "planner/candidate.h"
#include "planner/question.h"

#include <optional>
#include <string>

namespace ppplan::planner {

/// What lengthens a step beyond evenly spread work. The parts add up to the step.
struct StepParts {
  Seconds work{0};        ///< mean of the ranks' computing
  Seconds imbalance{0};   ///< the busiest rank's computing beyond the mean
  Seconds fill_drain{0};  ///< waiting that would stay with free transfers
  Seconds transfers{0};   ///< what transfers add to the makespan
  Seconds reduction{0};
  Seconds optimizer{0};
  Seconds overhead{0};  ///< the profile's step overhead
  int busiest_rank = 0;
};

/// O(actions): simulates once more, with free transfers.
StepParts step_parts(const Candidate& candidate, const Cut& cut, const Evaluation& evaluation);

/// The fastest step of one device without a pipeline, any measured micro-batch size.
struct SingleDevice {
  Seconds step{0};
  int micro_batch = 0;
  Bytes needed;
  Bytes allowed;
  [[nodiscard]] bool fits() const { return needed <= allowed; }
};

/// On rows measured alone. The fastest that fits; where none fits, the one that needs least. Empty
/// when the batch cannot be cut into measured sizes on one device.
std::optional<SingleDevice> single_device(const Question& question);

/// Compares the plan with it in one sentence that says by how much and what binds.
Verdict judge_plan(const StepParts& parts, int stage_count, Seconds step,
                   const std::optional<SingleDevice>& alone);

}  // namespace ppplan::planner
