#include "executor/launch/verdict.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace ppplan::launch {
namespace {

RunReport verified_run() {
  RunReport report;
  report.losses = {5.0};
  report.reference_loss = 5.0;
  report.loss_error = 0.0;
  report.gradients = GradientCheck{.parameter_count = 10,
                                   .worst = 2e-6,
                                   .worst_name = "lm_head.weight",
                                   .worst_ratio = 1.0,
                                   .tolerance = 1e-4,
                                   .passed = true};
  return report;
}

TEST_CASE("verdict: equal loss and gradients are verified, and so is a run that was not checked") {
  CHECK_FALSE(not_verified(verified_run(), 1e-4));
  CHECK_FALSE(not_verified(RunReport{}, 1e-4));
}

TEST_CASE("verdict: wrong gradients tell their ratio") {
  RunReport report = verified_run();
  report.gradients->worst = 7.0;
  report.gradients->worst_ratio = 8.0;
  report.gradients->passed = false;
  const auto error = not_verified(report, 1e-4);
  REQUIRE(error);
  CHECK(error->failure() == Failure::kNotVerified);
  CHECK(std::string(error->what()) ==
        "gradients are 8.00 x the reference's: lm_head.weight differs by 7.00e+00, more than the "
        "tolerance 1e-04");
}

TEST_CASE("verdict: a loss that is off, or no number, is not verified") {
  RunReport report = verified_run();
  report.loss_error = 1e-3;
  CHECK(not_verified(report, 1e-4));
  report.loss_error = std::numeric_limits<double>::quiet_NaN();
  CHECK(not_verified(report, 1e-4));
  report.loss_error.reset();
  CHECK(not_verified(report, 1e-4));
}

TEST_CASE(
    "verdict: missed predictions warn beyond the usual, and fail beyond the limit asked for") {
  RunReport report;
  report.predicted_step = Seconds(1.1);
  report.measured_step = Seconds(1.0);
  report.ranks.resize(2);
  report.ranks[1].rank = 1;
  report.ranks[1].predicted_peak = Bytes{90};
  report.ranks[1].measured_peak = Bytes{100};
  CHECK(prediction_warnings(report) ==
        std::vector<std::string>{"peak memory of rank 1 was predicted 10.0 % too low"});
  CHECK_FALSE(prediction_missed(report, 0.11));
  const auto error = prediction_missed(report, 0.05);
  REQUIRE(error);
  CHECK(error->failure() == Failure::kNotVerified);
}

TEST_CASE("verdict: kernels that differ are named") {
  const Kernels planned{.torch = "2.11.0",
                        .attention = "math",
                        .blas = "mkl",
                        .precision = "float32",
                        .threads = 1,
                        .pinned = true};
  Kernels used = planned;
  CHECK(kernel_warnings(planned, used).empty());
  used.attention = "flash-cpu";
  used.pinned = false;
  CHECK(kernel_warnings(planned, used) ==
        std::vector<std::string>{"attention kernel: profiled with math, run with flash-cpu",
                                 "profiled pinned to cores, run not pinned"});
}

}  // namespace
}  // namespace ppplan::launch
