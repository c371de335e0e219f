// A candidate: everything about a plan but its cut. It prices any cut, and any stage before the
// rest of the cut is known.
#pragma once

#include "planner/batch.h"
#include "planner/chain_costs.h"
#include "planner/chain_cut.h"
#include "planner/makespan_bound.h"
#include "planner/memory_forms.h"
#include "planner/network.h"
#include "planner/pins.h"
#include "planner/recompute.h"
#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"
#include "reports/documents/plan.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ppplan::planner {

/// A layout with one micro-batch size, one number of pipeline ranks and one size of recomputed
/// pieces; schedules share it.
struct CostBasis {
  Layout layout;
  int rank_count = 1;
  std::int64_t recompute_chunk = 0;
  Recompute most_recompute = Recompute::kFull;  ///< that is allowed
  BatchSplit batch;                             ///< of one pipeline
  ChainCosts costs;
  Geometry geometry;
  std::vector<double> slowdown;      ///< by rank, of its device against the measured one
  std::vector<std::string> devices;  ///< by rank: names
  std::vector<Bytes> allowed;        ///< by rank
  Seconds call_overhead{0};
  Seconds step_overhead{0};

  [[nodiscard]] const ChainCosts& chain() const { return costs; }
  [[nodiscard]] int device_count() const { return layout.device_count() * rank_count; }
  /// Links and devices of stages that stand on these ranks.
  [[nodiscard]] StagePlaces places(const std::vector<int>& rank_of_stage) const;
};

/// What a cut of a candidate comes to.
struct Evaluation {
  Timeline timeline;
  Seconds step{0};                 ///< makespan + slowest reduction + slowest optimizer + overhead
  std::vector<Seconds> reduction;  ///< by rank, and likewise below
  std::vector<Seconds> optimizer;
  std::vector<MemoryBreakdown> memory;
  std::vector<int> in_flight;
  std::vector<RecomputeChoice> recompute;  ///< by stage

  /// Index of the rank that comes nearest to `allowed`, or exceeds it most.
  [[nodiscard]] int fullest_rank(const std::vector<Bytes>& allowed) const;
};

class Candidate {
 public:
  /// `limits`: of the cut. Precondition: every rank has a stage.
  Candidate(std::shared_ptr<const CostBasis> basis, Schedule schedule, CutLimits limits);

  /// The same with another order of actions for the same placement.
  [[nodiscard]] Candidate with_schedule(Schedule schedule) const {
    return {basis_, std::move(schedule), limits_};
  }

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] const CostBasis& basis() const { return *basis_; }
  [[nodiscard]] const std::shared_ptr<const CostBasis>& shared_basis() const { return basis_; }
  [[nodiscard]] int stage_count() const { return schedule_.stage_count(); }
  [[nodiscard]] int rank_count() const { return schedule_.rank_count(); }
  /// Then stages do not weigh on each other: bounds of single stages tell most.
  [[nodiscard]] bool one_stage_a_rank() const { return stage_count() == rank_count(); }
  [[nodiscard]] std::int64_t action_count() const { return action_count_; }
  /// What pricing a cut takes, in simulated actions: stages are composed, and ranks of several
  /// stages try several ways to recompute.
  [[nodiscard]] std::int64_t pricing_cost() const;
  [[nodiscard]] int micro_batch() const { return basis_->batch.class_size.front(); }
  [[nodiscard]] const std::vector<Bytes>& allowed() const { return basis_->allowed; }
  [[nodiscard]] const CutLimits& limits() const { return limits_; }

  /// No cut that has this stage takes a shorter step. O(1), and what choosing its recompute takes.
  [[nodiscard]] Seconds step_bound(int stage, int first, int last) const;
  /// No cut takes a shorter step: work spread evenly, or one micro-batch's way. O(stages).
  [[nodiscard]] Seconds least_step() const;
  /// No cut whose first `stage_count` stages are these takes a shorter step: by the work that their
  /// ranks have already, and by what is left for the others. O(stages).
  [[nodiscard]] Seconds prefix_bound(const Cut& cut, int stage_count) const;
  /// Peak memory that the stage takes on its rank with the recompute that is chosen for it, or with
  /// all there is where none suffices: the rank's, where it has no other stage. Else at most what
  /// the rank takes, whatever is recomputed.
  [[nodiscard]] Bytes memory(int stage, int first, int last) const;
  /// Limits of the cut, memory and step at once, as the search for a cut asks for them.
  [[nodiscard]] double search_bound(int stage, int first, int last) const;

  /// What each stage recomputes: least_recompute with one stage a rank, else the lowest rung of
  /// its rank's RecomputeLadder that fits; all there is where nothing does.
  [[nodiscard]] std::vector<RecomputeChoice> recompute(const Cut& cut) const;
  /// Peak memory by rank. O(stages) with one stage a rank, else O(actions).
  [[nodiscard]] std::vector<Bytes> memory(const Cut& cut) const;
  /// How far the rank that comes nearest to its limit is beyond it; negative when all fit.
  [[nodiscard]] Bytes excess(const Cut& cut) const;
  /// O(actions).
  [[nodiscard]] Seconds step(const Cut& cut) const;
  [[nodiscard]] Evaluation evaluate(const Cut& cut) const;
  /// The simulator's input.
  [[nodiscard]] ScheduleCosts costs(const Cut& cut) const { return costs(cut, recompute(cut)); }

 private:
  /// A choice, and whether the rank's memory suffices with it.
  struct Fit {
    RecomputeChoice choice;
    bool fits = true;
  };

  [[nodiscard]] ScheduleCosts costs(const Cut& cut,
                                    const std::vector<RecomputeChoice>& choices) const;
  [[nodiscard]] StageCost stage_cost(int stage, int first, int last, int class_index,
                                     const RecomputeChoice& choice) const;
  [[nodiscard]] Bytes memory(int stage, int first, int last, const RecomputeChoice& choice) const;
  template <typename CostOf>
  [[nodiscard]] Bytes memory_with(int stage, int first, int last, const CostOf& cost_of) const;
  [[nodiscard]] std::vector<Bytes> memory(const Cut& cut,
                                          const std::vector<RecomputeChoice>& choices) const;
  [[nodiscard]] Fit find_fit(int stage, int first, int last) const;
  [[nodiscard]] const Fit& fit(int stage, int first, int last) const;
  void recompute_rank(int rank, const Cut& cut, ScheduleCosts& all,
                      std::vector<RecomputeChoice>& choices) const;
  [[nodiscard]] Seconds step_bound(int stage, int first, int last,
                                   const RecomputeChoice& choice) const;
  [[nodiscard]] Seconds step_of(const Cut& cut, Seconds makespan) const;
  [[nodiscard]] Seconds work(int first, int last) const;
  [[nodiscard]] std::vector<std::vector<LayerRun>> runs_by_rank(const Cut& cut) const;

  std::shared_ptr<const CostBasis> basis_;
  Schedule schedule_;
  CutLimits limits_;
  StagePlaces places_;
  std::int64_t action_count_ = 0;
  double calls_ = 2.0;  ///< of a stage for a micro-batch, at least
  MakespanBound makespan_bound_;
  std::vector<MemoryForms> memory_forms_;  ///< by stage
  bool recomputes_ = false;                ///< some layer can
  double least_slowdown_ = 1.0;
  std::vector<int> region_first_;  ///< [layer]: where the run of layers alike begins
  std::vector<int> like_stage_;    ///< [stage]: the first stage with its forms and limit
  /// Choices already made: a search asks for the same stage again and again.
  mutable std::map<std::tuple<int, int, int>, Fit> fits_;
};

}  // namespace ppplan::planner
