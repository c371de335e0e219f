// Plans without a backward pass.
#include "planner/partition.h"
#include "planner/question.h"
#include "planner/schedule/checker.h"
#include "planner/schedule/generators.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <variant>

namespace ppplan::planner {
namespace {

using testing::SyntheticLayer;

Planned plan_of(const Profile& profile, const PartitionOptions& options) {
  return std::get<Planned>(partition(profile, options));
}

}  // namespace

TEST_CASE("inference: a schedule of forwards alone passes the checker under its own name only") {
  Schedule schedule =
      std::get<Schedule>(make_schedule(kForwardOnly, {.rank_count = 3, .micro_batch_count = 4}));
  CHECK(!check(schedule));
  schedule.name = "custom";
  REQUIRE(check(schedule));
  CHECK(check(schedule)->message.find("0B0") != std::string::npos);
}

TEST_CASE("inference: a flow shop of equal micro-batches, parameters alone in memory") {
  // Stages of 3 and 2 ms; a hop takes 1 ms: the way through, then the slowest stage three times.
  const Profile profile =
      testing::synthetic_profile({{.forward_s = 3e-3, .output_bytes = 0}, {.forward_s = 2e-3}},
                                 {.device_count = 2, .micro_batches = {1}, .latency_s = 1e-3});
  const PartitionOptions options{.stage_count = 2, .global_batch = 4, .forward_only = true};
  const Plan plan = plan_of(profile, options).plan;
  CHECK(plan.predicted.step.count() == doctest::Approx(3e-3 + 1e-3 + 2e-3 + 3 * 3e-3));
  CHECK(plan.lower_bound <= plan.predicted.step);
  CHECK(plan.export_only);
  for (const PlanRank& rank : plan.ranks) {
    CHECK(rank.memory.parameters == Bytes{4000});
    CHECK(rank.memory.gradients + rank.memory.optimizer_state + rank.memory.activations ==
          Bytes{0});
    CHECK(rank.optimizer == Seconds(0));
  }
}

TEST_CASE("inference: a pipeline only adds to one request's latency") {
  const Profile profile = testing::synthetic_profile(testing::transformer_layers(6),
                                                     {.device_count = 4, .micro_batches = {1}});
  const Plan plan = plan_of(profile, {.global_batch = 1, .forward_only = true}).plan;
  CHECK(plan.ranks.size() == 1);
  CHECK_FALSE(plan.verdict.worth_it);
}

TEST_CASE("inference: bounds stay below the simulated time, and the cut found is the best") {
  std::mt19937 random(8);
  for (int round = 0; round < 100; ++round) {
    const Profile profile = testing::synthetic_profile(
        testing::random_layers(random, 6),
        {.device_count = 3, .micro_batches = {1, 3}, .call_overhead_s = 1e-4});
    const PartitionOptions options{
        .stage_count = 3, .global_batch = 1 + static_cast<int>(random() % 9), .forward_only = true};
    const Question question = ask(profile, options);
    Seconds best{1e9};
    for (const Size& size : sizes_of(question)) {
      const Candidate candidate = offer(question, make_basis(question, size)).candidates.front();
      for (int a = 1; a <= 5; ++a) {
        for (int b = a; b <= 5; ++b) {
          const Cut cut{0, a, b, 6};
          const double step_s = candidate.step(cut).count();
          for (int stage = 0; stage < 3; ++stage) {
            const auto at = static_cast<std::size_t>(stage);
            CHECK(candidate.step_bound(stage, cut[at], cut[at + 1]).count() <=
                  step_s * (1 + 1e-12));
            CHECK(candidate.prefix_bound(cut, stage + 1).count() <= step_s * (1 + 1e-12));
          }
          CHECK(size.bound.count() <= step_s * (1 + 1e-12));
          best = std::min(best, candidate.step(cut));
        }
      }
    }
    CHECK(plan_of(profile, options).plan.predicted.step.count() ==
          doctest::Approx(best.count()).epsilon(1e-9));
  }
}

}  // namespace ppplan::planner
