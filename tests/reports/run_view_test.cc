#include "reports/render/run_view.h"

#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace ppplan::render {
namespace {

/// Two ranks, the second without layers of its own, one figure of each kind.
RunReport report() {
  RunReport result;
  result.step_count = 5;
  result.warmup_step_count = 2;
  result.predicted_step = Seconds(1.1);
  result.measured_step = Seconds(1.0);
  result.predicted_tokens_per_s = 930.9;
  result.measured_tokens_per_s = 1024.0;
  result.losses = {5.5452, 5.0, 4.25};
  result.reference_loss = 5.54520001;
  result.loss_error = 1.8e-9;
  result.gradients = GradientCheck{.parameter_count = 272,
                                   .worst = 3.1e-7,
                                   .worst_name = "lm_head.weight",
                                   .worst_ratio = 1.0,
                                   .tolerance = 1e-4,
                                   .passed = true};
  ReportRow row;
  row.layer_count = 16;
  row.predicted_forward = Seconds(0.2);
  row.measured_forward = Seconds(0.25);
  row.predicted_backward = Seconds(0.5);
  row.measured_backward = Seconds(0.4);
  row.measured_communication = Seconds(0.002);
  row.predicted_peak = Bytes{3LL << 30};
  row.measured_peak = Bytes{2LL << 30};
  row.measured_resident = Bytes{5LL << 29};
  row.predicted_optimizer = Seconds(0.4);
  row.measured_optimizer = Seconds(0.03);
  result.ranks.push_back(row);
  row = {};
  row.rank = 1;
  row.first_layer = 16;
  row.predicted_reduction = Seconds(0.01);
  row.measured_reduction = Seconds(0.01);
  row.measured_idle = Seconds(0.5);
  result.ranks.push_back(row);
  return result;
}

TEST_CASE("run view: predicted beside measured, then what was verified") {
  tests::check_golden(run_view(report(), {}), "run_view/verified.txt");
}

TEST_CASE("run view: a run that was not verified says so") {
  RunReport unverified = report();
  unverified.gradients.reset();
  unverified.reference_loss.reset();
  const std::string text = run_view(unverified, {});
  CHECK(text.find("gradients: not compared with a single process\n") != std::string::npos);
  CHECK(text.find("single process 5") == std::string::npos);
}

TEST_CASE("run view: wrong gradients are told as such, no number included") {
  RunReport wrong = report();
  wrong.gradients->passed = false;
  wrong.gradients->worst = std::numeric_limits<double>::quiet_NaN();
  CHECK(run_view(wrong, {}).find("gradients: NOT equal to the single process's") !=
        std::string::npos);
}

TEST_CASE("run view: one step is no steps") {
  RunReport single = report();
  single.step_count = 1;
  CHECK(run_view(single, {}).find("measured: 1 step after 2 of warm-up\n") != std::string::npos);
}

TEST_CASE("run view: JSON has the report's keys") {
  tests::check_golden(run_json(report()), "run_view/report.json");
}

}  // namespace
}  // namespace ppplan::render
