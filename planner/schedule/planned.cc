#include "planner/schedule/planned.h"

#include "planner/schedule/generators.h"
#include "planner/schedule/text.h"
#include "reports/documents/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ppplan::planner {
namespace {

Schedule generated(const Plan& plan) {
  const int rank_count = static_cast<int>(plan.ranks.size());
  const int stage_count = static_cast<int>(plan.stages.size());
  if (rank_count == 0 || stage_count % rank_count != 0) {
    throw Error(
        Failure::kBadInput,
        fmt::format(
            "schedule '{}' needs as many stages on each rank; the plan has {} stages on {} ranks",
            plan.schedule, stage_count, rank_count));
  }
  auto made = make_schedule(plan.schedule,
                            {.rank_count = rank_count,
                             .micro_batch_count = static_cast<int>(plan.micro_batches.size()),
                             .virtual_count = stage_count / rank_count,
                             .micro_batch_group = {}});
  if (const auto* refused = std::get_if<Unschedulable>(&made)) {
    throw Error(Failure::kBadInput, fmt::format("schedule '{}' does not serve this plan: {}",
                                                plan.schedule, refused->reason));
  }
  return std::get<Schedule>(std::move(made));
}

Schedule written(const Plan& plan) {
  Schedule schedule = from_csv(fmt::format("{}\n", fmt::join(plan.actions, "\n")), "actions");
  schedule.name = plan.schedule;
  return schedule;
}

}  // namespace

Schedule planned_schedule(const Plan& plan) {
  Schedule schedule = plan.actions.empty() ? generated(plan) : written(plan);
  std::vector<int> planned_ranks;
  for (const PlanStage& stage : plan.stages) planned_ranks.push_back(stage.rank);
  if (schedule.rank_of_stage != planned_ranks || schedule.ranks.size() != plan.ranks.size()) {
    throw Error(
        Failure::kBadInput,
        fmt::format("schedule '{}' places stages on ranks {}, the plan on {}", plan.schedule,
                    fmt::join(schedule.rank_of_stage, " "), fmt::join(planned_ranks, " ")));
  }
  if (schedule.micro_batch_count != static_cast<int>(plan.micro_batches.size())) {
    throw Error(Failure::kBadInput,
                fmt::format("schedule '{}' has {} micro-batches, the plan {}", plan.schedule,
                            schedule.micro_batch_count, plan.micro_batches.size()));
  }
  return schedule;
}

}  // namespace ppplan::planner
