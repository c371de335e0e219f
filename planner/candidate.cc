#include "planner/candidate.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <span>
#include <utility>

namespace ppplan::planner {
namespace {

std::size_t index_of(int at) {
  return static_cast<std::size_t>(at);
}

}  // namespace

int Evaluation::fullest_rank(const std::vector<Bytes>& allowed) const {
  int fullest = 0;
  for (std::size_t rank = 0; rank < memory.size(); ++rank) {
    const auto excess = [&](std::size_t at) { return memory[at].total() - allowed[at]; };
    if (excess(rank) > excess(index_of(fullest))) fullest = static_cast<int>(rank);
  }
  return fullest;
}

Candidate::Candidate(std::shared_ptr<const CostBasis> basis, Schedule schedule,
                     std::vector<Bytes> allowed, CutLimits limits)
    : basis_(std::move(basis)),
      schedule_(std::move(schedule)),
      allowed_(std::move(allowed)),
      limits_(std::move(limits)),
      makespan_bound_(basis_->chain, basis_->batch, schedule_.rank_of_stage, basis_->call_overhead,
                      bound_kind(schedule_.name)) {
  assert(allowed_.size() == schedule_.ranks.size());
  assert(std::ssize(limits_.least) == schedule_.stage_count() + 1);
  for (int stage = 0; stage < schedule_.stage_count(); ++stage) {
    memory_forms_.emplace_back(schedule_, basis_->batch.class_of_micro_batch, stage);
  }
  for (const std::vector<Action>& actions : schedule_.ranks) action_count_ += std::ssize(actions);
}

Seconds Candidate::step_bound(int stage, int first, int last) const {
  const ChainCosts& chain = basis_->chain;
  const Seconds reduction = one_stage_a_rank() ? chain.least_reduction(first, last) : Seconds(0);
  return makespan_bound_.at(stage, first, last) + chain.optimizer(first, last) + reduction +
         basis_->step_overhead;
}

/// The least time that layers [first, last) as one stage keep a rank busy in a step.
Seconds Candidate::work(int first, int last) const {
  const BatchSplit& batch = basis_->batch;
  Seconds work{0};
  for (int index = 0; index < batch.class_count(); ++index) {
    const int count = index == 0 ? batch.micro_batch_count() - batch.last_class() : 1;
    work += (basis_->chain.forward(first, last, index) +
             basis_->chain.least_backward(first, last, index) + 2.0 * basis_->call_overhead) *
            count;
  }
  return work;
}

Seconds Candidate::prefix_bound(const Cut& cut, int stage_count) const {
  const auto decided = index_of(stage_count);
  std::vector<Seconds> load(schedule_.ranks.size(), Seconds(0));
  Seconds bound{0};
  for (std::size_t stage = 0; stage < decided; ++stage) {
    Seconds& own = load[index_of(schedule_.rank_of_stage[stage])];
    own += work(cut[stage], cut[stage + 1]);
    bound = std::max(bound, own);
  }
  // What is left goes to the ranks of the stages that are left: one of them has the mean or more.
  Seconds left = work(cut[decided], basis_->chain.layer_count());
  std::vector<bool> open(load.size(), false);
  for (std::size_t stage = decided; stage < schedule_.rank_of_stage.size(); ++stage) {
    open[index_of(schedule_.rank_of_stage[stage])] = true;
  }
  double open_count = 0.0;
  for (std::size_t rank = 0; rank < load.size(); ++rank) {
    if (!open[rank]) continue;
    left += load[rank];
    open_count += 1.0;
  }
  if (open_count > 0.0) bound = std::max(bound, left / open_count);
  return bound + basis_->step_overhead;
}

Bytes Candidate::memory(int stage, int first, int last) const {
  std::array<StageCost, MemoryForms::kMaxClasses> costs;
  std::array<Bytes, MemoryForms::kMaxClasses> received;
  const auto count = index_of(basis_->chain.class_count());
  for (std::size_t index = 0; index < count; ++index) {
    costs[index] = basis_->chain.stage(first, last, static_cast<int>(index));
    received[index] = basis_->chain.boundary(first, static_cast<int>(index));
  }
  return basis_->chain.static_memory(first, last).total() +
         memory_forms_[index_of(stage)].peak(std::span(costs).first(count),
                                             std::span(received).first(count));
}

double Candidate::search_bound(int stage, int first, int last) const {
  if (const double barred = limits_.bound(stage, first, last); barred > 0.0) return barred;
  const Bytes allowed = allowed_[index_of(schedule_.rank_of_stage[index_of(stage)])];
  if (const Bytes needed = memory(stage, first, last); needed > allowed) {
    // Only a smaller boundary tensor could make a longer stage fit. Four of them are held at most.
    Bytes boundaries{0};
    for (int index = 0; index < basis_->chain.class_count(); ++index) {
      boundaries += basis_->chain.boundary(last, index) * 4;
    }
    return needed - boundaries > allowed ? kUnreachable : kBlocked;
  }
  return step_bound(stage, first, last).count();
}

ScheduleCosts Candidate::costs(const Cut& cut) const {
  ScheduleCosts costs{.stages = {},
                      .class_of_micro_batch = basis_->batch.class_of_micro_batch,
                      .call_overhead = basis_->call_overhead};
  for (std::size_t stage = 0; stage + 1 < cut.size(); ++stage) {
    std::vector<StageCost>& classes = costs.stages.emplace_back();
    for (int index = 0; index < basis_->chain.class_count(); ++index) {
      classes.push_back(basis_->chain.stage(cut[stage], cut[stage + 1], index));
    }
  }
  return costs;
}

std::vector<std::vector<LayerRun>> Candidate::runs_by_rank(const Cut& cut) const {
  std::vector<std::vector<LayerRun>> runs(schedule_.ranks.size());
  for (std::size_t stage = 0; stage + 1 < cut.size(); ++stage) {
    runs[index_of(schedule_.rank_of_stage[stage])].push_back({cut[stage], cut[stage + 1]});
  }
  return runs;
}

std::vector<Bytes> Candidate::memory(const Cut& cut) const {
  std::vector<Bytes> needed;
  if (one_stage_a_rank()) {
    needed.resize(schedule_.ranks.size());
    for (int stage = 0; stage < stage_count(); ++stage) {
      const auto at = index_of(stage);
      needed[index_of(schedule_.rank_of_stage[at])] = memory(stage, cut[at], cut[at + 1]);
    }
    return needed;
  }
  const std::vector<RankMemory> peaks = memory_peaks(schedule_, costs(cut));
  const std::vector<std::vector<LayerRun>> runs = runs_by_rank(cut);
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    needed.push_back(basis_->chain.static_memory(runs[rank]).total() + peaks[rank].total());
  }
  return needed;
}

Bytes Candidate::excess(const Cut& cut) const {
  const std::vector<Bytes> needed = memory(cut);
  Bytes most = needed.front() - allowed_.front();
  for (std::size_t rank = 1; rank < needed.size(); ++rank) {
    most = std::max(most, needed[rank] - allowed_[rank]);
  }
  return most;
}

Seconds Candidate::step_of(const Cut& cut, Seconds makespan) const {
  Seconds optimizer{0};
  for (const std::vector<LayerRun>& runs : runs_by_rank(cut)) {
    optimizer = std::max(optimizer, basis_->chain.optimizer(runs));
  }
  const std::vector<Seconds> reduction = basis_->chain.reduction(cut, schedule_.rank_of_stage);
  return makespan + *std::ranges::max_element(reduction) + optimizer + basis_->step_overhead;
}

Seconds Candidate::step(const Cut& cut) const {
  return step_of(cut, planner::makespan(schedule_, costs(cut)));
}

Evaluation Candidate::evaluate(const Cut& cut) const {
  const ScheduleCosts schedule_costs = costs(cut);
  Evaluation evaluation{.timeline = simulate(schedule_, schedule_costs),
                        .step = Seconds(0),
                        .reduction = basis_->chain.reduction(cut, schedule_.rank_of_stage),
                        .optimizer = {},
                        .memory = {},
                        .in_flight = {}};
  evaluation.step = step_of(cut, evaluation.timeline.makespan);
  const std::vector<RankMemory> peaks = memory_peaks(schedule_, schedule_costs);
  const std::vector<std::vector<LayerRun>> runs = runs_by_rank(cut);
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    const StaticMemory kept = basis_->chain.static_memory(runs[rank]);
    evaluation.optimizer.push_back(basis_->chain.optimizer(runs[rank]));
    evaluation.memory.push_back({.parameters = kept.parameters,
                                 .gradients = kept.gradients,
                                 .optimizer_state = kept.optimizer_state,
                                 .activations = peaks[rank].activations,
                                 .transient = peaks[rank].transient,
                                 .buffers = peaks[rank].buffers});
    evaluation.in_flight.push_back(peaks[rank].in_flight);
  }
  return evaluation;
}

}  // namespace ppplan::planner
