// Where the time of a priced plan goes, action by action and on the mean over ranks, and what would
// go away with each obstacle.
#pragma once

#include "planner/plan_pricer.h"
#include "reports/documents/explanation.h"

#include <vector>

namespace ppplan::planner {

/// What an action's time is made of.
struct ActionParts {
  Seconds work{0};
  Seconds sharing{0};
  Seconds recompute{0};
  Seconds calls{0};

  ActionParts& operator+=(const ActionParts& other) {
    work += other.work;
    sharing += other.sharing;
    recompute += other.recompute;
    calls += other.calls;
    return *this;
  }
  [[nodiscard]] Seconds total() const { return work + sharing + recompute + calls; }
};

/// The parts of every action of a plan.
class ActionAccount {
 public:
  /// `plan` must outlive this. O(stages).
  explicit ActionAccount(const PricedAgain& plan);

  /// Adds up to what the action takes in the plan's timeline. O(1).
  [[nodiscard]] ActionParts of(const Action& action) const;

 private:
  struct Stage {
    double slowdown = 1.0;
    std::vector<StageCost> all;       ///< by class, and likewise below
    std::vector<StageCost> unlinked;  ///< without traffic between devices
    std::vector<StageCost> bare;      ///< nor recompute
  };

  const PricedAgain& plan_;
  std::vector<Stage> stages_;
};

/// On the mean over ranks. Adds up to the step. O(actions).
StepParts step_parts(const PricedAgain& plan);

/// What the same cut would take with one obstacle gone, the most promising first.
///   compute    every rank as busy as the mean one
///   memory     nothing recomputed
///   sharing    no traffic among the devices that share a layer
///   transfer   tensors arrive at once
///   reduction  none
///   pipeline   no rank waits while the pipeline fills and drains
/// `parts`: of this plan. O(actions).
std::vector<Relief> reliefs(const PricedAgain& plan, const StepParts& parts);

}  // namespace ppplan::planner
