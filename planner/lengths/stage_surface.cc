#include "planner/lengths/stage_surface.h"

#include "planner/batch.h"
#include "planner/chain_costs.h"
#include "planner/cost_table.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

namespace ppplan::planner {
namespace {

/// The costs at one length; empty where not every kind was measured around it.
std::optional<CostTable> table_at(const Profile& profile, std::int64_t length, int rank_count) {
  try {
    return CostTable(profile, length, rank_count);
  } catch (const Error&) {
    return std::nullopt;  // another length may do; when none does, rows_of says so
  }
}

/// Lengths with the sizes that every kind has costs for, no more than a shorter length has.
std::vector<ShapeGrid::Row> rows_of(const Profile& profile, int rank_count) {
  const std::vector<int> measured = measured_micro_batches(profile);
  std::vector<ShapeGrid::Row> rows;
  for (const std::int64_t length : measured_sequences(profile)) {
    const std::optional<CostTable> costs = table_at(profile, length, rank_count);
    if (!costs) continue;
    ShapeGrid::Row row{length, {}};
    for (const int size : measured) {
      const bool within = size >= costs->micro_batches().least &&
                          size <= costs->micro_batches().most &&
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

std::vector<std::vector<StageCost>> stage_costs(const Profile& profile, const Plan& plan,
                                                const std::vector<ShapeGrid::Row>& rows) {
  std::vector<std::vector<StageCost>> stages(plan.stages.size());
  for (const ShapeGrid::Row& row : rows) {
    const CostTable costs(profile, row.length, static_cast<int>(plan.ranks.size()));
    const ChainCosts chain(profile, costs, {.class_size = row.samples, .class_of_micro_batch = {}});
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      const int first = plan.stages[stage].first_layer;
      const int last = first + plan.stages[stage].layer_count;
      for (int size = 0; size < chain.class_count(); ++size) {
        stages[stage].push_back(chain.stage(first, last, size));
      }
    }
  }
  return stages;
}

}  // namespace

StageSurface::StageSurface(const Profile& profile, const Plan& plan)
    : rows_(rows_of(profile, static_cast<int>(plan.ranks.size()))),
      grid_(rows_),
      stages_(stage_costs(profile, plan, rows_)),
      call_overhead_(profile.call_overhead) {
  for (const PlanStage& stage : plan.stages) rank_of_stage_.push_back(stage.rank);
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
