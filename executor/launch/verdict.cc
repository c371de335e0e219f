#include "executor/launch/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace ppplan::launch {
namespace {

constexpr double kUsualStepError = 0.12;
constexpr double kUsualMemoryError = 0.06;
constexpr std::string_view kStepTime = "step time";
constexpr Bytes kFloat32{4};

/// Also false for what is no number.
bool within(double value, double limit) {
  return std::abs(value) <= limit;
}

std::string describe(const Miss& miss) {
  return fmt::format("{} was predicted {:.1f} % too {}", miss.what, std::abs(miss.error) * 100.0,
                     miss.error > 0 ? "high" : "low");
}

}  // namespace

std::optional<Error> not_verified(const RunReport& report, double tolerance) {
  if (report.gradients &&
      !(report.gradients->passed && within(report.gradients->worst, tolerance))) {
    const GradientCheck& check = *report.gradients;
    return Error(
        Failure::kNotVerified,
        fmt::format("gradients are {:.2f} x the reference's: {} differs by {:.2e}, more than "
                    "the tolerance {:.0e}",
                    check.worst_ratio, check.worst_name, check.worst, tolerance),
        "a ratio that is a whole number points at the number of micro-batches, tokens or "
        "ranks; otherwise at kernels that differ");
  }
  if (report.reference_loss && !(report.loss_error && within(*report.loss_error, tolerance))) {
    const double loss = report.losses.empty() ? NAN : report.losses.front();
    return Error(
        Failure::kNotVerified,
        fmt::format("the first step's loss is {:.6f}, the reference's {:.6f}: more than the "
                    "tolerance {:.0e} apart",
                    loss, *report.reference_loss, tolerance),
        "compare the kernels of the plan and of this run (ppplan doctor)");
  }
  return std::nullopt;
}

std::vector<Miss> misses(const RunReport& report) {
  std::vector<Miss> result;
  const auto compare = [&result](std::string what, double predicted, double measured) {
    if (predicted > 0.0 && measured > 0.0) {
      result.push_back({.what = std::move(what), .error = (predicted - measured) / measured});
    }
  };
  compare(std::string(kStepTime), report.predicted_step.count(), report.measured_step.count());
  for (const ReportRow& row : report.ranks) {
    compare(fmt::format("peak memory of rank {}", row.rank),
            static_cast<double>(row.predicted_peak.count),
            static_cast<double>(row.measured_peak.count));
  }
  return result;
}

std::vector<std::string> prediction_warnings(const RunReport& report) {
  std::vector<std::string> warnings;
  for (const Miss& miss : misses(report)) {
    const double usual = miss.what == kStepTime ? kUsualStepError : kUsualMemoryError;
    if (!within(miss.error, usual)) warnings.push_back(describe(miss));
  }
  return warnings;
}

std::optional<Error> prediction_missed(const RunReport& report, double limit) {
  const std::vector<Miss> all = misses(report);
  const auto worst = std::max_element(all.begin(), all.end(), [](const Miss& a, const Miss& b) {
    return std::abs(a.error) < std::abs(b.error);
  });
  if (worst == all.end() || within(worst->error, limit)) return std::nullopt;
  return Error(
      Failure::kNotVerified,
      fmt::format("{}, more than the {:.1f} % of --max-error", describe(*worst), limit * 100.0),
      "profile again on the idle machine, with the worker count and cores of this run");
}

std::vector<std::string> kernel_warnings(const Kernels& planned, const Kernels& used) {
  std::vector<std::string> warnings;
  const auto compare = [&warnings](std::string_view what, const auto& before, const auto& now) {
    if (before != now) {
      warnings.push_back(fmt::format("{}: profiled with {}, run with {}", what, before, now));
    }
  };
  compare("LibTorch", planned.torch, used.torch);
  compare("attention kernel", planned.attention, used.attention);
  compare("matrix library", planned.blas, used.blas);
  compare("precision", planned.precision, used.precision);
  compare("threads of a worker", planned.threads, used.threads);
  if (planned.pinned != used.pinned) {
    warnings.emplace_back(planned.pinned ? "profiled pinned to cores, run not pinned"
                                         : "profiled not pinned to cores, run pinned");
  }
  return warnings;
}

Bytes reference_memory(const Plan& plan) {
  Bytes activations;
  Bytes transient;
  for (const PlanRank& rank : plan.ranks) {
    activations += Bytes{rank.memory.activations.count / std::max(1, rank.in_flight)};
    transient = std::max(transient, rank.memory.transient);
  }
  return kFloat32 * (2 * parameter_count(plan.model)) + activations + transient;
}

}  // namespace ppplan::launch
