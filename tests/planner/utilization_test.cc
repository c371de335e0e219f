#include "planner/utilization.h"

#include "planner/partition.h"
#include "profiler/models/counts.h"
#include "tests/support/estimated_profile.h"

#include <doctest/doctest.h>

#include <variant>

namespace ppplan::planner {
namespace {

constexpr std::int64_t kSequence = 4096;

double flops_per_token(const Model& model) {
  return profiler::count_model(model, {.sequence = kSequence}).training_flops_per_token;
}

/// An eighth of Llama 3.1 8B on two devices.
Profile small_profile() {
  return testing::estimated_profile(testing::llama_of({.block_count = 4}),
                                    {.cluster = {1, 2}, .micro_batches = {1, 2}});
}

Plan plan_of(const Profile& profile) {
  auto answer = partition(profile, {.stage_count = 2,
                                    .global_batch = 64,
                                    .micro_batch = 2,
                                    .schedules = {"1f1b"},
                                    .tensor_parallel = 1,
                                    .recompute = Recompute::kNone,
                                    .recompute_chunk = 0});
  REQUIRE(std::holds_alternative<Planned>(answer));
  Plan plan = std::get<Planned>(std::move(answer)).plan;
  set_utilization(plan, profile, flops_per_token(profile.model));
  return plan;
}

/// Of a block alone on one device, without optimizer, bubble and transfers.
double block_utilization(const Profile& profile, int micro_batch) {
  const int block = 1;
  for (const Measurement& row : profile.measurements) {
    if (row.kind != block || row.micro_batch != micro_batch || row.sharding != Sharding{} ||
        row.recompute != Recompute::kNone) {
      continue;
    }
    const double flops = profiler::count_kind(profile.model, block, {.sequence = kSequence})
                             .training_flops_per_token *
                         static_cast<double>(kSequence) * micro_batch;
    return flops / (row.forward.median + row.backward.median).count() /
           profile.devices.front().peak_flops_per_s;
  }
  return 0.0;
}

}  // namespace

TEST_CASE("utilization: a plan's is below its block's, and is the data sheet's share") {
  const Profile profile = small_profile();
  REQUIRE(profile.devices.front().peak_flops_per_s == 989e12);
  const Plan plan = plan_of(profile);
  CHECK(device_count(plan) == 2);
  CHECK(plan.predicted.tokens_per_s_per_device ==
        doctest::Approx(plan.predicted.tokens_per_s / 2.0));
  CHECK(plan.predicted.mfu == doctest::Approx(plan.predicted.tokens_per_s *
                                              flops_per_token(profile.model) / (2.0 * 989e12)));
  const double block = block_utilization(profile, 2);
  CHECK(block < 1.0);
  CHECK(plan.predicted.mfu < block);
  CHECK(plan.predicted.mfu > 0.5 * block);
}

TEST_CASE("utilization: unknown where a device's peak is not known") {
  Profile profile = small_profile();
  for (Device& device : profile.devices) device.peak_flops_per_s = 0.0;
  const Plan plan = plan_of(profile);
  CHECK(plan.predicted.mfu == 0.0);
  CHECK(plan.predicted.tokens_per_s_per_device > 0.0);
}

}  // namespace ppplan::planner
