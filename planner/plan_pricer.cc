#include "planner/plan_pricer.h"

#include "planner/schedule/generators.h"
#include "planner/schedule/planned.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

namespace ppplan::planner {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Failure::kBadInput, message, "plan again with 'ppplan partition'");
}

void check_length(std::size_t stage_count, std::size_t micro_batch_count) {
  const auto most = static_cast<std::size_t>(kPlannedActionLimit) / 2;
  if (stage_count == 0 || micro_batch_count == 0 || micro_batch_count > most / stage_count) {
    refuse(fmt::format("{} micro-batches on {} stages: more than {} actions", micro_batch_count,
                       stage_count, kPlannedActionLimit));
  }
}

}  // namespace

PartitionOptions options_of(const Plan& plan) {
  const Constraints& constraints = plan.constraints;
  return {.stage_count = constraints.stage_count,
          .global_batch = constraints.global_batch,
          .micro_batch = constraints.micro_batch,
          .sequence = constraints.sequence,
          .memory = constraints.memory,
          .schedules = constraints.schedules,
          .virtual_count = constraints.virtual_count,
          .pins = constraints.pins,
          .layer_counts = constraints.layer_counts,
          .forward_only = plan.schedule == kForwardOnly,
          .device_count = constraints.device_count,
          .tensor_parallel = constraints.tensor_parallel,
          .data_parallel = constraints.data_parallel,
          .data_sharding = constraints.data_sharding,
          .recompute = constraints.recompute,
          .recompute_chunk = constraints.recompute_chunk,
          .reserve = constraints.reserve};
}

PlanPricer::PlanPricer(const Profile& profile, const PartitionOptions& options)
    : unlinked_profile_(std::make_unique<Profile>(profile)),
      question_(ask(profile, options)),
      unlinked_(question_) {
  unlinked_profile_->links.clear();
  unlinked_.profile = unlinked_profile_.get();
  unlinked_.book = std::make_shared<CostBook>(*unlinked_profile_, question_.sequence,
                                              question_.devices_per_node(), question_.forward_only);
}

PricedAgain PlanPricer::plan(const Plan& plan) const {
  check_length(plan.stages.size(), plan.micro_batches.size());
  Choice choice{.layout = plan.layout,
                .rank_count = static_cast<int>(plan.ranks.size()),
                .chunk = plan.recompute_chunk,
                .micro_batch = plan.micro_batch,
                .schedule = planned_schedule(plan),
                .cut = {0},
                .step = plan.predicted.step};
  for (const PlanStage& stage : plan.stages) {
    choice.cut.push_back(stage.first_layer + stage.layer_count);
  }
  PricedAgain priced = price(std::move(choice));
  if (priced.candidate->basis().batch.sizes() != plan.micro_batches) {
    refuse(fmt::format("micro_batches: expected {} samples each and the rest in the last",
                       plan.micro_batch));
  }
  return priced;
}

std::optional<PricedAgain> PlanPricer::runner_up(const RunnerUp& runner_up) const {
  if (runner_up.schedule == kSynthesized) return std::nullopt;
  const std::size_t stage_count = runner_up.layer_counts.size();
  Choice choice{.layout = runner_up.layout,
                .rank_count = runner_up.rank_count,
                .chunk = runner_up.recompute_chunk,
                .micro_batch = runner_up.micro_batch,
                .schedule = {},
                .cut = {0},
                .step = runner_up.step};
  for (const int count : runner_up.layer_counts) choice.cut.push_back(choice.cut.back() + count);
  try {
    check_length(stage_count, static_cast<std::size_t>(runner_up.micro_batch_count));
    auto made = make_schedule(
        runner_up.schedule,
        {.rank_count = choice.rank_count,
         .micro_batch_count = runner_up.micro_batch_count,
         .virtual_count = std::max(1, static_cast<int>(stage_count) / choice.rank_count)});
    if (!std::holds_alternative<Schedule>(made)) return std::nullopt;
    choice.schedule = std::get<Schedule>(std::move(made));
    return price(std::move(choice));
  } catch (const Error&) {
    return std::nullopt;  // of another version's planner; its own reason is in the plan
  }
}

/// What a document may hold and no search would choose.
void PlanPricer::check(const Choice& choice) const {
  constexpr std::int64_t kMostDevices = 65'536;
  const Sharding& sharding = choice.layout.sharding;
  std::int64_t devices = choice.rank_count;
  for (const int degree : {sharding.tensor, sharding.context, choice.layout.data_parallel}) {
    devices = std::min(devices, kMostDevices) * degree;
  }
  if (devices > kMostDevices) refuse(fmt::format("more than {} devices", kMostDevices));
  if (choice.layout.data_sharding == DataSharding::kParameters) {
    refuse("data_sharding: pipelines that divide parameters are not priced");
  }
  const std::int64_t batch = question_.global_batch / choice.layout.data_parallel;
  if (question_.global_batch % choice.layout.data_parallel != 0 || choice.micro_batch < 1 ||
      choice.micro_batch > batch) {
    refuse(fmt::format("a batch of {} in micro-batches of {} on {} pipelines",
                       question_.global_batch, choice.micro_batch, choice.layout.data_parallel));
  }
  const IntegerRange measured =
      question_.book->table(sharding, choice.chunk, static_cast<int>(devices)).micro_batches();
  const std::int64_t rest = batch % choice.micro_batch;
  if (choice.micro_batch < measured.least || choice.micro_batch > measured.most ||
      (rest > 0 && rest < measured.least)) {
    refuse(fmt::format("micro-batches of {} and {}: the profile measured {} to {}",
                       choice.micro_batch, rest, measured.least, measured.most));
  }
  const auto layer_count = static_cast<int>(question_.profile->model.layers.size());
  const Cut& cut = choice.cut;
  if (cut.back() != layer_count || std::ssize(cut) != choice.schedule.stage_count() + 1 ||
      !std::ranges::is_sorted(cut) || cut[1] == 0 || cut[cut.size() - 2] == layer_count) {
    refuse(fmt::format("its stages do not hold the model's {} layers", layer_count));
  }
}

std::vector<PipelineShape> PlanPricer::shapes_like(const Choice& choice) const {
  std::vector<PipelineShape> shapes;
  for (const PipelineShape& shape : question_.shapes) {
    if (shape.layout == choice.layout && shape.rank_count == choice.rank_count) {
      shapes.push_back(shape);
    }
  }
  if (shapes.empty()) shapes.push_back({.layout = choice.layout, .rank_count = choice.rank_count});
  return shapes;
}

PricedAgain PlanPricer::price(Choice choice) const {
  check(choice);
  const auto layer_count = choice.cut.back();
  const CutLimits any = cut_limits({}, {}, layer_count, choice.schedule.stage_count());
  std::optional<PricedAgain> nearest;
  for (const PipelineShape& shape : shapes_like(choice)) {
    const Size size{.shape = shape, .chunk = choice.chunk, .micro_batch = choice.micro_batch};
    auto candidate =
        std::make_shared<const Candidate>(make_basis(question_, size), choice.schedule, any);
    const auto distance = [&](Seconds step) { return std::abs((step - choice.step).count()); };
    if (nearest && distance(candidate->step(choice.cut)) >= distance(nearest->evaluation.step)) {
      continue;
    }
    nearest.emplace(PricedAgain{.candidate = candidate,
                                .cut = choice.cut,
                                .evaluation = candidate->evaluate(choice.cut),
                                .unlinked = make_basis(unlinked_, size)->costs});
  }
  return *std::move(nearest);
}

}  // namespace ppplan::planner
