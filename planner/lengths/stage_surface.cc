#include "planner/lengths/stage_surface.h"

#include "planner/candidate.h"
#include "planner/cost_book.h"
#include "planner/cost_table.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

namespace ppplan::planner {
namespace {

CostBook book_at(const Profile& profile, std::int64_t length) {
  const int devices = std::max(1, static_cast<int>(profile.devices.size()));
  return {profile, length, profile.cluster ? profile.cluster->devices_per_node : devices};
}

/// Sizes with costs at one length; empty where not every kind was measured around it.
std::optional<IntegerRange> sizes_at(const Profile& profile, std::int64_t length,
                                     const CostBasis& basis) {
  try {
    return book_at(profile, length)
        .table(basis.layout.sharding, basis.recompute_chunk, basis.device_count())
        .micro_batches();
  } catch (const Error&) {
    return std::nullopt;  // another length may do; when none does, rows_of says so
  }
}

/// Lengths with the sizes that every kind has costs for, no more than a shorter length has.
std::vector<ShapeGrid::Row> rows_of(const Profile& profile, const CostBasis& basis) {
  const std::vector<int> measured = measured_micro_batches(profile);
  std::vector<ShapeGrid::Row> rows;
  for (const std::int64_t length : measured_sequences(profile)) {
    const std::optional<IntegerRange> sizes = sizes_at(profile, length, basis);
    if (!sizes) continue;
    ShapeGrid::Row row{length, {}};
    for (const int size : measured) {
      const bool within = size >= sizes->least && size <= sizes->most &&
                          (rows.empty() || size <= rows.back().samples.back());
      if (within) row.samples.push_back(size);
    }
    if (!row.samples.empty()) rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    throw Error(Failure::kBadInput,
                "the profile has no sequence length that was measured for every kind of layer",
                "profile the model again");
  }
  return rows;
}

/// What each layer of a plan's stage recomputes.
RecomputeChoice choice_of(const PlanStage& stage) {
  RecomputeChoice choice;
  int first = stage.first_layer;
  for (const RecomputeRun& run : stage.recompute) {
    choice.push_back({first, first + run.layer_count, run.recompute, run.segment});
    first += run.layer_count;
  }
  return choice;
}

/// On the stage's own device, with transfers over the links that they take.
StageCost placed(StageCost cost, const ChainCosts& chain, std::size_t stage, int size,
                 const std::vector<PlanStage>& stages, const CostBasis& basis) {
  const PlanStage& own = stages[stage];
  const double slowdown = basis.slowdown[static_cast<std::size_t>(own.rank)];
  for (Seconds* time :
       {&cost.forward, &cost.backward, &cost.backward_input, &cost.backward_weight}) {
    *time *= slowdown;
  }
  const auto transfer = [&](int at, const PlanStage& other) {
    return chain.transfer(at, size, basis.geometry.hop(own.rank, other.rank));
  };
  if (stage > 0) cost.send_gradient = transfer(own.first_layer, stages[stage - 1]);
  if (stage + 1 < stages.size()) {
    cost.send_activation = transfer(own.first_layer + own.layer_count, stages[stage + 1]);
  }
  return cost;
}

std::vector<std::vector<StageCost>> stage_costs(const Profile& profile, const Planned& planned,
                                                const std::vector<ShapeGrid::Row>& rows) {
  const std::vector<PlanStage>& stages = planned.plan.stages;
  const CostBasis& basis = *planned.basis;
  std::vector<std::vector<StageCost>> costs(stages.size());
  for (const ShapeGrid::Row& row : rows) {
    const ChainCosts chain =
        book_at(profile, row.length)
            .chain(basis.layout, basis.rank_count, basis.recompute_chunk, row.samples);
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      const int first = stages[stage].first_layer;
      const int last = first + stages[stage].layer_count;
      const RecomputeChoice choice = choice_of(stages[stage]);
      for (int size = 0; size < chain.class_count(); ++size) {
        costs[stage].push_back(
            placed(chain.stage(first, last, size, choice), chain, stage, size, stages, basis));
      }
    }
  }
  return costs;
}

}  // namespace

StageSurface::StageSurface(const Profile& profile, const Planned& planned)
    : rows_(rows_of(profile, *planned.basis)),
      grid_(rows_),
      stages_(stage_costs(profile, planned, rows_)),
      call_overhead_(profile.call_overhead) {
  for (const PlanStage& stage : planned.plan.stages) rank_of_stage_.push_back(stage.rank);
}

StageCost StageSurface::stage(int stage, std::span<const GridWeight> weights) const {
  const std::vector<StageCost>& points = stages_[static_cast<std::size_t>(stage)];
  const auto time = [&](Seconds StageCost::*field) {
    Seconds sum{0};
    for (const auto& [point, weight] : weights) sum += points[point].*field * weight;
    return sum;
  };
  const auto size = [&](Bytes StageCost::*field) {
    double sum = 0.0;
    for (const auto& [point, weight] : weights) {
      sum += static_cast<double>((points[point].*field).count) * weight;
    }
    return Bytes{std::llround(sum)};
  };
  return {.forward = time(&StageCost::forward),
          .backward = time(&StageCost::backward),
          .backward_input = time(&StageCost::backward_input),
          .backward_weight = time(&StageCost::backward_weight),
          .send_activation = time(&StageCost::send_activation),
          .send_gradient = time(&StageCost::send_gradient),
          .saved = size(&StageCost::saved),
          .forward_peak = size(&StageCost::forward_peak),
          .backward_peak = size(&StageCost::backward_peak),
          .weight_pending = size(&StageCost::weight_pending),
          .output = size(&StageCost::output)};
}

std::vector<ShapeTimes> StageSurface::slowest_times() const {
  const int rank_count = *std::ranges::max_element(rank_of_stage_) + 1;
  std::vector<ShapeTimes> times;
  std::size_t point = 0;
  for (const ShapeGrid::Row& row : rows_) {
    ShapeTimes& made = times.emplace_back(ShapeTimes{row.length, row.samples, {}});
    for (std::size_t size = 0; size < row.samples.size(); ++size, ++point) {
      std::vector<Seconds> of_rank(static_cast<std::size_t>(rank_count), Seconds(0));
      for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        const StageCost& cost = stages_[stage][point];
        of_rank[static_cast<std::size_t>(rank_of_stage_[stage])] +=
            cost.forward + cost.backward + 2.0 * call_overhead_;
      }
      made.times.push_back(*std::ranges::max_element(of_rank));
    }
  }
  return times;
}

}  // namespace ppplan::planner
