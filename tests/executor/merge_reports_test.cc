#include "executor/launch/merge_reports.h"

#include "reports/documents/error.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace ppplan::launch {
namespace {

/// Two ranks, three micro-batches of 2, 2 and 1 samples of 10 tokens.
Plan small_plan() {
  Plan plan;
  plan.constraints.global_batch = 5;
  plan.constraints.sequence = 10;
  plan.micro_batch = 2;
  plan.micro_batches = {2, 2, 1};
  plan.stages.resize(2);
  plan.stages[0] = {.rank = 0,
                    .first_layer = 0,
                    .layer_count = 3,
                    .forward = Seconds(0.1),
                    .backward = Seconds(0.2),
                    .backward_input = {},
                    .backward_weight = {},
                    .output = {}};
  plan.stages[1] = plan.stages[0];
  plan.stages[1].rank = 1;
  plan.stages[1].first_layer = 3;
  plan.ranks.resize(2);
  plan.ranks[1].idle = Seconds(0.05);
  plan.ranks[1].memory.parameters = Bytes{100};
  plan.ranks[1].memory.transient = Bytes{20};
  plan.predicted.step = Seconds(1.0);
  return plan;
}

RankReport measured(int rank, std::vector<double> step_s) {
  RankReport report;
  report.rank = rank;
  report.stage = rank;
  report.forward = Seconds(0.25);
  report.step_s = std::move(step_s);
  return report;
}

const RunJob kJob = [] {
  RunJob job;
  job.step_count = 3;
  job.warmup_step_count = 1;
  return job;
}();

RunResults results() {
  return {.plan_sha256 = "abc",
          .ranks = {measured(0, {9.0, 1.0, 2.0, 1.5}), measured(1, {9.0, 1.25, 1.0, 2.5})},
          .reference = {},
          .kernels = {},
          .warnings = {}};
}

GradientCheck check(double worst, std::string name) {
  return {.parameter_count = 4,
          .worst = worst,
          .worst_name = std::move(name),
          .worst_ratio = 1.0,
          .tolerance = 1e-4,
          .passed = worst <= 1e-4};
}

TEST_CASE("merge: a step is as long as its slowest rank, without warm-up") {
  const RunReport report = merge_reports(small_plan(), kJob, results());
  // 1.25, 2.0, 2.5
  CHECK(report.measured_step == Seconds(2.0));
  CHECK(report.measured_spread == doctest::Approx((2.25 - 1.625) / 2 / 2.0));
  CHECK(report.measured_tokens_per_s == doctest::Approx(25.0));
  CHECK(report.predicted_step == Seconds(1.0));
  CHECK(report.input_sha256 == "abc");
}

TEST_CASE("merge: a stage's prediction covers all micro-batches, a short one by its samples") {
  const RunReport report = merge_reports(small_plan(), kJob, results());
  REQUIRE(report.ranks.size() == 2);
  CHECK(report.ranks[1].first_layer == 3);
  CHECK(report.ranks[1].layer_count == 3);
  CHECK(report.ranks[1].predicted_forward.count() == doctest::Approx(0.25));
  CHECK(report.ranks[1].predicted_backward.count() == doctest::Approx(0.5));
  CHECK(report.ranks[1].predicted_idle == Seconds(0.05));
  CHECK(report.ranks[1].predicted_peak == Bytes{120});
  CHECK(report.ranks[0].measured_forward == Seconds(0.25));
}

TEST_CASE("merge: the worst gradient of all ranks is the run's, and what is no number is worst") {
  RunResults run = results();
  run.ranks[0].gradients = check(3e-5, "a");
  run.ranks[1].gradients = check(2e-5, "b");
  RunReport report = merge_reports(small_plan(), kJob, run);
  REQUIRE(report.gradients);
  CHECK(report.gradients->worst_name == "a");
  CHECK(report.gradients->parameter_count == 8);
  CHECK(report.gradients->passed);
  run.ranks[1].gradients = check(std::numeric_limits<double>::quiet_NaN(), "b");
  report = merge_reports(small_plan(), kJob, run);
  CHECK(report.gradients->worst_name == "b");
  CHECK_FALSE(report.gradients->passed);
}

TEST_CASE("merge: the loss is compared with the reference's") {
  RunResults run = results();
  run.ranks[1].losses = {5.0, 4.0, 3.0, 2.0};
  run.reference = ReferenceReport{.loss = 4.0, .token_count = 50, .step = {}, .peak = {}};
  const RunReport report = merge_reports(small_plan(), kJob, run);
  CHECK(report.losses.size() == 4);
  REQUIRE(report.loss_error);
  CHECK(*report.loss_error == doctest::Approx(0.25));
}

TEST_CASE("merge: reports of another run are refused") {
  RunResults run = results();
  run.ranks[1].step_s.pop_back();
  CHECK_THROWS_AS(merge_reports(small_plan(), kJob, run), Error);
  run = results();
  run.ranks.pop_back();
  CHECK_THROWS_AS(merge_reports(small_plan(), kJob, run), Error);
}

}  // namespace
}  // namespace ppplan::launch
