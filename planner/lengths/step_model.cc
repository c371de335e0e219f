#include "planner/lengths/step_model.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace ppplan::planner {
namespace {

constexpr std::array kTimes = {&StageCost::forward,         &StageCost::backward,
                               &StageCost::backward_input,  &StageCost::backward_weight,
                               &StageCost::send_activation, &StageCost::send_gradient};
constexpr std::array kSizes = {&StageCost::saved, &StageCost::forward_peak,
                               &StageCost::backward_peak, &StageCost::weight_pending,
                               &StageCost::output};

/// One class whose micro-batches take the mean time of those of `costs`.
ScheduleCosts evened(const ScheduleCosts& costs) {
  const std::size_t count = costs.class_of_micro_batch.size();
  ScheduleCosts even{.stages = {},
                     .class_of_micro_batch = std::vector<int>(count, 0),
                     .call_overhead = costs.call_overhead};
  for (const std::vector<StageCost>& classes : costs.stages) {
    StageCost mean;
    for (const int index : costs.class_of_micro_batch) {
      for (const auto time : kTimes) {
        mean.*time += classes[static_cast<std::size_t>(index)].*time / static_cast<double>(count);
      }
    }
    even.stages.push_back({mean});
  }
  return even;
}

/// How long each rank waits between its first and its last action.
std::vector<Seconds> waits(const Timeline& timeline) {
  std::vector<Seconds> waits;
  for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    const std::vector<Interval>& actions = timeline.ranks[rank];
    waits.push_back(actions.empty()
                        ? Seconds(0)
                        : actions.back().finish - actions.front().start - timeline.busy[rank]);
  }
  return waits;
}

}  // namespace

StepModel::StepModel(const Profile& profile, const Planned& planned)
    : surface_(profile, planned),
      schedule_name_(planned.plan.schedule),
      rank_count_(static_cast<int>(planned.plan.ranks.size())),
      virtual_count_(static_cast<int>(planned.plan.stages.size()) / rank_count_),
      call_overhead_(profile.call_overhead) {
  Seconds reduction{0};
  Seconds optimizer{0};
  for (const PlanRank& rank : planned.plan.ranks) {
    reduction = std::max(reduction, rank.reduction);
    optimizer = std::max(optimizer, rank.optimizer);
    kept_.push_back(rank.memory.parameters + rank.memory.gradients + rank.memory.optimizer_state);
  }
  beyond_makespan_ = reduction + optimizer + profile.step_overhead;
}

const std::variant<Schedule, Unschedulable>& StepModel::schedule(int micro_batch_count) {
  const auto known = schedules_.find(micro_batch_count);
  if (known != schedules_.end()) return known->second;
  auto made = make_schedule(schedule_name_, {.rank_count = rank_count_,
                                             .micro_batch_count = micro_batch_count,
                                             .virtual_count = virtual_count_});
  return schedules_.emplace(micro_batch_count, std::move(made)).first->second;
}

std::vector<GridWeight> StepModel::weights(const MicroBatch& micro_batch,
                                           std::span<const std::int64_t> lengths) const {
  const ShapeGrid& grid = surface_.grid();
  const bool packed = micro_batch.row_count == 1 && micro_batch.samples.size() > 1;
  if (!packed) {
    const auto at = grid.at(micro_batch.row_count, static_cast<double>(micro_batch.row_length));
    return {at.begin(), at.end()};
  }
  std::vector<double> shares(grid.point_count(), 0.0);
  for (const int sample : micro_batch.samples) {
    const std::int64_t document = lengths[static_cast<std::size_t>(sample)];
    const double share = static_cast<double>(document) / static_cast<double>(micro_batch.tokens);
    for (const auto& [point, weight] : grid.in_row(document, micro_batch.tokens)) {
      shares[point] += share * weight;
    }
  }
  std::vector<GridWeight> weights;
  for (std::size_t point = 0; point < shares.size(); ++point) {
    if (shares[point] > 0.0) weights.push_back({point, shares[point]});
  }
  return weights;
}

ScheduleCosts StepModel::costs(std::span<const MicroBatch> micro_batches,
                               std::span<const std::int64_t> lengths) const {
  ScheduleCosts costs{.stages = std::vector<std::vector<StageCost>>(
                          static_cast<std::size_t>(surface_.stage_count())),
                      .class_of_micro_batch = {},
                      .call_overhead = call_overhead_};
  std::map<std::pair<int, std::int64_t>, int> class_of_shape;
  int class_count = 0;
  for (const MicroBatch& micro_batch : micro_batches) {
    const bool packed = micro_batch.row_count == 1 && micro_batch.samples.size() > 1;
    if (!packed) {
      const auto [known, is_new] =
          class_of_shape.try_emplace({micro_batch.row_count, micro_batch.row_length}, class_count);
      if (!is_new) {
        costs.class_of_micro_batch.push_back(known->second);
        continue;
      }
    }
    costs.class_of_micro_batch.push_back(class_count++);
    const std::vector<GridWeight> shape = weights(micro_batch, lengths);
    for (int stage = 0; stage < surface_.stage_count(); ++stage) {
      costs.stages[static_cast<std::size_t>(stage)].push_back(surface_.stage(stage, shape));
    }
  }
  return costs;
}

Seconds StepModel::step(const Schedule& schedule, const ScheduleCosts& costs) const {
  return makespan(schedule, costs) + beyond_makespan_;
}

Stall StepModel::stall(const Schedule& schedule, const ScheduleCosts& costs) const {
  const Timeline uneven = simulate(schedule, costs);
  const Timeline even = simulate(schedule, evened(costs));
  Stall stall{.step = uneven.makespan - even.makespan, .ranks = waits(uneven)};
  const std::vector<Seconds> even_waits = waits(even);
  for (std::size_t rank = 0; rank < even_waits.size(); ++rank)
    stall.ranks[rank] -= even_waits[rank];
  return stall;
}

std::vector<Bytes> StepModel::dynamic_peaks(const Schedule& schedule,
                                            const ScheduleCosts& costs) const {
  std::vector<Bytes> peaks = kept_;
  const std::vector<RankMemory> filled = memory_peaks(schedule, costs);
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) peaks[rank] += filled[rank].total();
  return peaks;
}

std::vector<Bytes> StepModel::static_peaks(const Schedule& schedule,
                                           const std::vector<StageCost>& largest) const {
  ScheduleCosts costs{.stages = {},
                      .class_of_micro_batch =
                          std::vector<int>(static_cast<std::size_t>(schedule.micro_batch_count)),
                      .call_overhead = call_overhead_};
  for (const StageCost& cost : largest) costs.stages.push_back({cost});
  return dynamic_peaks(schedule, costs);
}

void enlarge(std::vector<StageCost>& largest, const ScheduleCosts& costs) {
  largest.resize(costs.stages.size());
  for (std::size_t stage = 0; stage < largest.size(); ++stage) {
    for (const StageCost& cost : costs.stages[stage]) {
      for (const auto size : kSizes) {
        largest[stage].*size = std::max(largest[stage].*size, cost.*size);
      }
    }
  }
}

}  // namespace ppplan::planner
