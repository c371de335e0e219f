// A candidate: everything about a plan but its cut. It prices any cut, and any stage before the
// rest of the cut is known.
#pragma once

#include "planner/batch.h"
#include "planner/chain_costs.h"
#include "planner/chain_cut.h"
#include "planner/makespan_bound.h"
#include "planner/memory_forms.h"
#include "planner/pins.h"
#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"
#include "reports/documents/plan.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ppplan::planner {

/// Layer costs of one micro-batch size on one number of ranks; schedules share them.
struct CostBasis {
  BatchSplit batch;
  ChainCosts chain;
  Seconds call_overhead{0};
  Seconds step_overhead{0};
};

/// What a cut of a candidate comes to.
struct Evaluation {
  Timeline timeline;
  Seconds step{0};                 ///< makespan + slowest reduction + slowest optimizer + overhead
  std::vector<Seconds> reduction;  ///< by rank, and likewise below
  std::vector<Seconds> optimizer;
  std::vector<MemoryBreakdown> memory;
  std::vector<int> in_flight;

  /// Index of the rank that comes nearest to `allowed`, or exceeds it most.
  [[nodiscard]] int fullest_rank(const std::vector<Bytes>& allowed) const;
};

class Candidate {
 public:
  /// `allowed`: bytes by rank; `limits`: of the cut. Precondition: every rank has a stage.
  Candidate(std::shared_ptr<const CostBasis> basis, Schedule schedule, std::vector<Bytes> allowed,
            CutLimits limits);

  /// The same with another order of actions for the same placement.
  [[nodiscard]] Candidate with_schedule(Schedule schedule) const {
    return {basis_, std::move(schedule), allowed_, limits_};
  }

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] const CostBasis& basis() const { return *basis_; }
  [[nodiscard]] int stage_count() const { return schedule_.stage_count(); }
  [[nodiscard]] int rank_count() const { return schedule_.rank_count(); }
  /// Then stages do not weigh on each other: bounds of single stages tell most.
  [[nodiscard]] bool one_stage_a_rank() const { return stage_count() == rank_count(); }
  [[nodiscard]] std::int64_t action_count() const { return action_count_; }
  [[nodiscard]] int micro_batch() const { return basis_->batch.class_size.front(); }
  [[nodiscard]] const std::vector<Bytes>& allowed() const { return allowed_; }
  [[nodiscard]] const CutLimits& limits() const { return limits_; }

  /// No cut that has this stage takes a shorter step. O(1).
  [[nodiscard]] Seconds step_bound(int stage, int first, int last) const;
  /// No cut whose first `stage_count` stages are these takes a shorter step: by the work that their
  /// ranks have already, and by what is left for the others. O(stages).
  [[nodiscard]] Seconds prefix_bound(const Cut& cut, int stage_count) const;
  /// Peak memory that the stage takes on its rank: the rank's, where it has no other stage; else at
  /// most that. O(1).
  [[nodiscard]] Bytes memory(int stage, int first, int last) const;
  /// Limits of the cut, memory and step at once, as the search for a cut asks for them.
  [[nodiscard]] double search_bound(int stage, int first, int last) const;

  /// Peak memory by rank. O(stages) with one stage a rank, else O(actions).
  [[nodiscard]] std::vector<Bytes> memory(const Cut& cut) const;
  /// How far the rank that comes nearest to its limit is beyond it; negative when all fit.
  [[nodiscard]] Bytes excess(const Cut& cut) const;
  /// O(actions).
  [[nodiscard]] Seconds step(const Cut& cut) const;
  [[nodiscard]] Evaluation evaluate(const Cut& cut) const;
  /// The simulator's input.
  [[nodiscard]] ScheduleCosts costs(const Cut& cut) const;

 private:
  [[nodiscard]] Seconds step_of(const Cut& cut, Seconds makespan) const;
  [[nodiscard]] Seconds work(int first, int last) const;
  [[nodiscard]] std::vector<std::vector<LayerRun>> runs_by_rank(const Cut& cut) const;

  std::shared_ptr<const CostBasis> basis_;
  Schedule schedule_;
  std::vector<Bytes> allowed_;
  CutLimits limits_;
  std::int64_t action_count_ = 0;
  MakespanBound makespan_bound_;
  std::vector<MemoryForms> memory_forms_;  ///< by stage
};

}  // namespace ppplan::planner
