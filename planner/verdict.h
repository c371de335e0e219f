// Whether pipelining is worth it against one device, and what a step's time goes to.
#pragma once

#include "planner/candidate.h"
#include "planner/question.h"

#include <optional>

namespace ppplan::planner {

/// The fastest step of one device without a pipeline, with any measured micro-batch size.
struct SingleDevice {
  Seconds step{0};
  Bytes needed;
  Bytes allowed;
  [[nodiscard]] bool fits() const { return needed <= allowed; }
};

/// On rows measured alone. The fastest that fits; where none fits, the one that needs least. Empty
/// when the batch cannot be cut into measured sizes on one device.
std::optional<SingleDevice> single_device(const Question& question);

/// Compares a plan with one device, in one sentence that says by how much and what costs most
/// beside the layers' work. `rival`: of a plan on one device, the best pipeline's step, where there
/// is one.
Verdict judge_plan(const Candidate& candidate, const Cut& cut, const Evaluation& evaluation,
                   const std::optional<SingleDevice>& alone, std::optional<Seconds> rival);

}  // namespace ppplan::planner
