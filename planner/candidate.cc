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

StagePlaces CostBasis::places(const std::vector<int>& rank_of_stage) const {
  StagePlaces places{.rank_of_stage = rank_of_stage, .hop = {LinkScope::kInside}, .slowdown = {}};
  for (std::size_t stage = 1; stage < rank_of_stage.size(); ++stage) {
    places.hop.push_back(geometry.hop(rank_of_stage[stage - 1], rank_of_stage[stage]));
  }
  for (const int rank : rank_of_stage) places.slowdown.push_back(slowdown[index_of(rank)]);
  return places;
}

Candidate::Candidate(std::shared_ptr<const CostBasis> basis, Schedule schedule, CutLimits limits)
    : basis_(std::move(basis)),
      schedule_(std::move(schedule)),
      limits_(std::move(limits)),
      places_(basis_->places(schedule_.rank_of_stage)),
      makespan_bound_(basis_->chain(), basis_->batch, places_, basis_->call_overhead,
                      bound_kind(schedule_.name)),
      least_slowdown_(*std::ranges::min_element(places_.slowdown)) {
  assert(basis_->allowed.size() == schedule_.ranks.size());
  assert(std::ssize(limits_.least) == schedule_.stage_count() + 1);
  const ChainCosts& chain = basis_->chain();
  for (int stage = 0; stage < schedule_.stage_count(); ++stage) {
    memory_forms_.emplace_back(schedule_, basis_->batch.class_of_micro_batch, stage);
  }
  for (const std::vector<Action>& actions : schedule_.ranks) action_count_ += std::ssize(actions);
  if (schedule_.name == kForwardOnly) calls_ = 1.0;
  for (int layer = 0; layer < chain.layer_count(); ++layer) {
    for (const Recompute recompute : {Recompute::kSelective, Recompute::kFull}) {
      recomputes_ =
          recomputes_ || (recompute <= basis_->most_recompute && chain.offers(layer, recompute));
    }
  }
  if (!recomputes_) return;
  for (int layer = 0; layer < chain.layer_count(); ++layer) {
    const bool goes_on = layer > 0 && chain.alike(layer) == chain.alike(layer - 1);
    region_first_.push_back(goes_on ? region_first_.back() : layer);
  }
  for (int stage = 0; stage < stage_count(); ++stage) {
    const auto allowed = [&](int at) {
      return basis_->allowed[index_of(schedule_.rank_of_stage[index_of(at)])];
    };
    int like = 0;
    while (like < stage && (allowed(like) != allowed(stage) ||
                            !(memory_forms_[index_of(like)] == memory_forms_[index_of(stage)]))) {
      ++like;
    }
    like_stage_.push_back(like);
  }
}

std::int64_t Candidate::pricing_cost() const {
  constexpr std::int64_t kStage = 50;  // about as long as so many actions
  constexpr std::int64_t kLadder = 8;  // rungs tried
  const std::int64_t once = action_count_ + kStage * stage_count() * basis_->chain().class_count();
  return recomputes_ && !one_stage_a_rank() ? kLadder * once : once;
}

Candidate::Fit Candidate::find_fit(int stage, int first, int last) const {
  const ChainCosts& chain = basis_->chain();
  const Bytes allowed = basis_->allowed[index_of(schedule_.rank_of_stage[index_of(stage)])];
  const auto fits = [&](const RecomputeChoice& choice) {
    return memory(stage, first, last, choice) <= allowed;
  };
  if (!recomputes_) return {.choice = {}, .fits = fits({})};
  if (auto least = least_segmented_recompute(chain, first, last, basis_->most_recompute, fits))
    return {std::move(*least), true};
  // Nothing fits: what needs least.
  Fit leanest{most_recompute(chain, first, last, basis_->most_recompute), false};
  Bytes least_needed = memory(stage, first, last, leanest.choice);
  for (int segment = 2; segment <= std::min(kLongestSegment, last - first); segment *= 2) {
    RecomputeChoice longer = most_recompute(chain, first, last, basis_->most_recompute, segment);
    const Bytes needed = memory(stage, first, last, longer);
    if (needed >= least_needed) continue;
    least_needed = needed;
    leanest.choice = std::move(longer);
  }
  return leanest;
}

/// Equal stages of equal layers share an answer: a stage inside a run of layers alike is moved to
/// where the run begins (behind its first layer, whose input is another kind's output).
const Candidate::Fit& Candidate::fit(int stage, int first, int last) const {
  int moved = first;
  if (recomputes_ && first < last && last < basis_->chain().layer_count()) {
    const int region = region_first_[index_of(last - 1)];
    if (first > region) moved = region + 1;
  }
  const int like = recomputes_ ? like_stage_[index_of(stage)] : stage;
  const std::tuple key(like, moved, moved + last - first);
  const auto known = fits_.find(key);
  if (known != fits_.end()) return known->second;
  return fits_.emplace(key, find_fit(stage, moved, moved + last - first)).first->second;
}

Seconds Candidate::step_bound(int stage, int first, int last) const {
  if (!recomputes_ || !one_stage_a_rank()) return step_bound(stage, first, last, {});
  return step_bound(stage, first, last, fit(stage, first, last).choice);
}

Seconds Candidate::step_bound(int stage, int first, int last, const RecomputeChoice& choice) const {
  const ChainCosts& chain = basis_->chain();
  std::array<Seconds, MemoryForms::kMaxClasses> added{};
  for (std::size_t index = 0; !choice.empty() && index < index_of(chain.class_count()); ++index) {
    const auto at = static_cast<int>(index);
    const StageCost with = chain.stage(first, last, at, choice);
    const StageCost without = chain.stage(first, last, at);
    added[index] = std::max(Seconds(0), std::min({with.backward - without.backward,
                                                  with.backward_input - without.backward_input}));
  }
  const Seconds reduction = one_stage_a_rank() ? chain.least_reduction(first, last) : Seconds(0);
  return makespan_bound_.at(stage, first, last, added) +
         chain.optimizer(first, last) * places_.slowdown[index_of(stage)] + reduction +
         basis_->step_overhead;
}

/// The least time that layers [first, last) as one stage keep a rank busy in a step.
Seconds Candidate::work(int first, int last) const {
  const BatchSplit& batch = basis_->batch;
  const ChainCosts& chain = basis_->chain();
  Seconds work{0};
  for (int index = 0; index < batch.class_count(); ++index) {
    const int count = index == 0 ? batch.micro_batch_count() - batch.last_class() : 1;
    const Seconds once =
        chain.forward(first, last, index) + chain.least_backward(first, last, index);
    work += (once * least_slowdown_ + calls_ * basis_->call_overhead) * count;
  }
  return work;
}

Seconds Candidate::least_step() const {
  const ChainCosts& chain = basis_->chain();
  const int layers = chain.layer_count();
  Seconds through{0};
  for (int index = 0; index < chain.class_count(); ++index) {
    const Seconds down =
        std::min(chain.backward(0, layers, index), chain.backward_input(0, layers, index));
    through = std::max(through, (chain.forward(0, layers, index) + down) * least_slowdown_);
  }
  return std::max(prefix_bound({0}, 0), through + basis_->step_overhead);
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
  Seconds left = work(cut[decided], basis_->chain().layer_count());
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

/// `cost_of(class)`: the stage's cost.
template <typename CostOf>
Bytes Candidate::memory_with(int stage, int first, int last, const CostOf& cost_of) const {
  const ChainCosts& chain = basis_->chain();
  std::array<StageCost, MemoryForms::kMaxClasses> costs;
  std::array<Bytes, MemoryForms::kMaxClasses> received;
  const auto count = index_of(chain.class_count());
  for (std::size_t index = 0; index < count; ++index) {
    costs[index] = cost_of(static_cast<int>(index));
    received[index] = chain.boundary(first, static_cast<int>(index));
  }
  return chain.static_memory(first, last).total() +
         memory_forms_[index_of(stage)].peak(std::span(costs).first(count),
                                             std::span(received).first(count));
}

Bytes Candidate::memory(int stage, int first, int last) const {
  if (!recomputes_) return memory(stage, first, last, {});
  if (one_stage_a_rank()) return memory(stage, first, last, fit(stage, first, last).choice);
  const RecomputeChoice most = most_recompute(basis_->chain(), first, last, basis_->most_recompute);
  return memory_with(stage, first, last, [&](int index) {
    StageCost least = basis_->chain().stage(first, last, index);
    const StageCost other = basis_->chain().stage(first, last, index, most);
    least.saved = std::min(least.saved, other.saved);
    least.weight_pending = std::min(least.weight_pending, other.weight_pending);
    // A mixture may peak below both.
    least.forward_peak = least.backward_peak = Bytes{0};
    return least;
  });
}

Bytes Candidate::memory(int stage, int first, int last, const RecomputeChoice& choice) const {
  return memory_with(stage, first, last,
                     [&](int index) { return basis_->chain().stage(first, last, index, choice); });
}

double Candidate::search_bound(int stage, int first, int last) const {
  if (const double barred = limits_.bound(stage, first, last); barred > 0.0) return barred;
  const Bytes allowed = basis_->allowed[index_of(schedule_.rank_of_stage[index_of(stage)])];
  if (const Bytes needed = memory(stage, first, last); needed > allowed) {
    // Only a smaller boundary tensor could make a longer stage fit. Four of them are held at most.
    Bytes boundaries{0};
    for (int index = 0; index < basis_->chain().class_count(); ++index) {
      boundaries += basis_->chain().boundary(last, index) * 4;
    }
    return needed - boundaries > allowed ? kUnreachable : kBlocked;
  }
  return step_bound(stage, first, last).count();
}

std::vector<RecomputeChoice> Candidate::recompute(const Cut& cut) const {
  std::vector<RecomputeChoice> choices(index_of(stage_count()));
  if (!recomputes_) return choices;
  if (!one_stage_a_rank()) {
    ScheduleCosts all = costs(cut, choices);
    for (int rank = 0; rank < rank_count(); ++rank) recompute_rank(rank, cut, all, choices);
    return choices;
  }
  for (int stage = 0; stage < stage_count(); ++stage) {
    const int first = cut[index_of(stage)];
    const Fit& found = fit(stage, first, cut[index_of(stage) + 1]);
    RecomputeChoice& choice = choices[index_of(stage)] = found.choice;
    const int shift = choice.empty() ? 0 : first - choice.front().first;
    for (RecomputedRun& run : choice) {
      run.first += shift;
      run.last += shift;
    }
  }
  return choices;
}

/// `all`: costs of every stage; those of the rank are changed to what is chosen.
void Candidate::recompute_rank(int rank, const Cut& cut, ScheduleCosts& all,
                               std::vector<RecomputeChoice>& choices) const {
  std::vector<std::size_t> stages;
  std::vector<LayerRun> runs;
  for (std::size_t stage = 0; stage + 1 < cut.size(); ++stage) {
    if (schedule_.rank_of_stage[stage] != rank) continue;
    stages.push_back(stage);
    runs.push_back({cut[stage], cut[stage + 1]});
  }
  const Bytes kept = basis_->chain().static_memory(runs).total();
  const auto fits = [&] {
    return kept + memory_peak(schedule_, all, rank).total() <= basis_->allowed[index_of(rank)];
  };
  if (fits()) return;
  const RecomputeLadder ladder(basis_->chain(), runs, basis_->most_recompute);
  const auto fits_at = [&](int rung) {
    std::vector<RecomputeChoice> made = ladder.at(rung);
    for (std::size_t at = 0; at < stages.size(); ++at) {
      RecomputeChoice& choice = choices[stages[at]] = std::move(made[at]);
      for (int index = 0; index < basis_->chain().class_count(); ++index) {
        all.stages[stages[at]][index_of(index)] =
            stage_cost(static_cast<int>(stages[at]), runs[at].first, runs[at].last, index, choice);
      }
    }
    return fits();
  };
  int low = 0;
  int high = ladder.rung_count() - 1;
  while (low + 1 < high) {
    const int middle = low + (high - low) / 2;
    (fits_at(middle) ? high : low) = middle;
  }
  fits_at(high);
}

StageCost Candidate::stage_cost(int stage, int first, int last, int class_index,
                                const RecomputeChoice& choice) const {
  const ChainCosts& chain = basis_->chain();
  StageCost cost = chain.stage(first, last, class_index, choice);
  const double slowdown = places_.slowdown[index_of(stage)];
  for (Seconds* time :
       {&cost.forward, &cost.backward, &cost.backward_input, &cost.backward_weight}) {
    *time *= slowdown;
  }
  cost.send_gradient = chain.transfer(first, class_index, places_.hop[index_of(stage)]);
  if (stage + 1 < stage_count()) {
    cost.send_activation = chain.transfer(last, class_index, places_.hop[index_of(stage) + 1]);
  }
  return cost;
}

ScheduleCosts Candidate::costs(const Cut& cut, const std::vector<RecomputeChoice>& choices) const {
  ScheduleCosts costs{.stages = {},
                      .class_of_micro_batch = basis_->batch.class_of_micro_batch,
                      .call_overhead = basis_->call_overhead};
  for (int stage = 0; stage < stage_count(); ++stage) {
    const auto at = index_of(stage);
    std::vector<StageCost>& classes = costs.stages.emplace_back();
    for (int index = 0; index < basis_->chain().class_count(); ++index) {
      classes.push_back(stage_cost(stage, cut[at], cut[at + 1], index, choices[at]));
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
  return memory(cut, recompute(cut));
}

std::vector<Bytes> Candidate::memory(const Cut& cut,
                                     const std::vector<RecomputeChoice>& choices) const {
  std::vector<Bytes> needed;
  if (one_stage_a_rank()) {
    needed.resize(schedule_.ranks.size());
    for (int stage = 0; stage < stage_count(); ++stage) {
      const auto at = index_of(stage);
      needed[index_of(schedule_.rank_of_stage[at])] =
          memory(stage, cut[at], cut[at + 1], choices[at]);
    }
    return needed;
  }
  const std::vector<RankMemory> peaks = memory_peaks(schedule_, costs(cut, choices));
  const std::vector<std::vector<LayerRun>> runs = runs_by_rank(cut);
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    needed.push_back(basis_->chain().static_memory(runs[rank]).total() + peaks[rank].total());
  }
  return needed;
}

Bytes Candidate::excess(const Cut& cut) const {
  const std::vector<Bytes> needed = memory(cut);
  Bytes most = needed.front() - allowed().front();
  for (std::size_t rank = 1; rank < needed.size(); ++rank) {
    most = std::max(most, needed[rank] - allowed()[rank]);
  }
  return most;
}

Seconds Candidate::step_of(const Cut& cut, Seconds makespan) const {
  Seconds optimizer{0};
  const std::vector<std::vector<LayerRun>> runs = runs_by_rank(cut);
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    optimizer = std::max(optimizer, basis_->chain().optimizer(runs[rank]) * basis_->slowdown[rank]);
  }
  const std::vector<Seconds> reduction = basis_->chain().reduction(cut, schedule_.rank_of_stage);
  return makespan + *std::ranges::max_element(reduction) + optimizer + basis_->step_overhead;
}

Seconds Candidate::step(const Cut& cut) const {
  return step_of(cut, planner::makespan(schedule_, costs(cut)));
}

Evaluation Candidate::evaluate(const Cut& cut) const {
  std::vector<RecomputeChoice> choices = recompute(cut);
  const ScheduleCosts schedule_costs = costs(cut, choices);
  Evaluation evaluation{.timeline = simulate(schedule_, schedule_costs),
                        .step = Seconds(0),
                        .reduction = basis_->chain().reduction(cut, schedule_.rank_of_stage),
                        .optimizer = {},
                        .memory = {},
                        .in_flight = {},
                        .recompute = std::move(choices)};
  evaluation.step = step_of(cut, evaluation.timeline.makespan);
  const std::vector<RankMemory> peaks = memory_peaks(schedule_, schedule_costs);
  const std::vector<std::vector<LayerRun>> runs = runs_by_rank(cut);
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    const StaticMemory kept = basis_->chain().static_memory(runs[rank]);
    evaluation.optimizer.push_back(basis_->chain().optimizer(runs[rank]) * basis_->slowdown[rank]);
    evaluation.memory.push_back({.parameters = kept.parameters,
                                 .gradients = kept.gradients,
                                 .optimizer_state = kept.optimizer_state,
                                 .activations = peaks[rank].activations,
                                 .transient = peaks[rank].transient,
                                 .buffers = peaks[rank].buffers});
    evaluation.in_flight.push_back(schedule_.name == kForwardOnly ? 1 : peaks[rank].in_flight);
  }
  return evaluation;
}

}  // namespace ppplan::planner
