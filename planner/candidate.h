// A candidate: everything about a plan but its cut. It prices any cut, and any stage before the
// rest of the cut is known.
#pragma once

#include "planner/batch.h"
#include "planner/chain_costs.h"
#include "planner/chain_cut.h"
#include "planner/makespan_bound.h"
#include "planner/memory_forms.h"
#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"
#include "reports/documents/plan.h"

#include <memory>
#include <string>
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
  /// `allowed`: bytes by rank; one rank a stage. Precondition: `schedule` places stage s on rank s.
  Candidate(std::shared_ptr<const CostBasis> basis, Schedule schedule, std::vector<Bytes> allowed);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] const CostBasis& basis() const { return *basis_; }
  [[nodiscard]] int stage_count() const { return schedule_.stage_count(); }
  [[nodiscard]] int micro_batch() const { return basis_->batch.class_size.front(); }
  [[nodiscard]] const std::vector<Bytes>& allowed() const { return allowed_; }

  /// No cut that has this stage takes a shorter step. O(1).
  [[nodiscard]] Seconds step_bound(int stage, int first, int last) const;
  /// Peak memory of the rank that runs it: exact, no other stage matters. O(1).
  [[nodiscard]] Bytes memory(int stage, int first, int last) const;
  /// Both at once, as the search for a cut asks for them.
  [[nodiscard]] double search_bound(int stage, int first, int last) const;

  /// O(actions).
  [[nodiscard]] Seconds step(const Cut& cut) const;
  [[nodiscard]] Evaluation evaluate(const Cut& cut) const;
  /// The simulator's input.
  [[nodiscard]] ScheduleCosts costs(const Cut& cut) const;

 private:
  [[nodiscard]] Seconds step_of(const Cut& cut, Seconds makespan) const;

  std::shared_ptr<const CostBasis> basis_;
  Schedule schedule_;
  std::vector<Bytes> allowed_;
  MakespanBound makespan_bound_;
  std::vector<MemoryForms> memory_forms_;  ///< by rank
};

}  // namespace ppplan::planner
