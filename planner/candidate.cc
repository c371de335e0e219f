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
                     std::vector<Bytes> allowed)
    : basis_(std::move(basis)),
      schedule_(std::move(schedule)),
      allowed_(std::move(allowed)),
      makespan_bound_(basis_->chain, basis_->batch, schedule_.stage_count(), basis_->call_overhead,
                      bound_kind(schedule_.name)) {
  assert(schedule_.stage_count() == schedule_.rank_count());
  assert(allowed_.size() == schedule_.ranks.size());
  for (int rank = 0; rank < schedule_.rank_count(); ++rank) {
    memory_forms_.emplace_back(schedule_, basis_->batch.class_of_micro_batch, rank);
  }
}

Seconds Candidate::step_bound(int stage, int first, int last) const {
  const ChainCosts& chain = basis_->chain;
  return makespan_bound_.at(stage, first, last) + chain.optimizer(first, last) +
         chain.least_reduction(first, last) + basis_->step_overhead;
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
  const Bytes allowed = allowed_[index_of(stage)];
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

Seconds Candidate::step_of(const Cut& cut, Seconds makespan) const {
  Seconds optimizer{0};
  for (std::size_t stage = 0; stage + 1 < cut.size(); ++stage) {
    optimizer = std::max(optimizer, basis_->chain.optimizer(cut[stage], cut[stage + 1]));
  }
  const std::vector<Seconds> reduction = basis_->chain.reduction(cut);
  return makespan + *std::ranges::max_element(reduction) + optimizer + basis_->step_overhead;
}

Seconds Candidate::step(const Cut& cut) const {
  return step_of(cut, simulate(schedule_, costs(cut)).makespan);
}

Evaluation Candidate::evaluate(const Cut& cut) const {
  const ScheduleCosts schedule_costs = costs(cut);
  Evaluation evaluation{.timeline = simulate(schedule_, schedule_costs),
                        .step = Seconds(0),
                        .reduction = basis_->chain.reduction(cut),
                        .optimizer = {},
                        .memory = {},
                        .in_flight = {}};
  evaluation.step = step_of(cut, evaluation.timeline.makespan);
  const std::vector<RankMemory> peaks = memory_peaks(schedule_, schedule_costs);
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    const int first = cut[rank];
    const int last = cut[rank + 1];
    const StaticMemory kept = basis_->chain.static_memory(first, last);
    evaluation.optimizer.push_back(basis_->chain.optimizer(first, last));
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
