#include "executor/launch/merge_reports.h"

#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace ppplan::launch {
namespace {

void require_complete(const Plan& plan, const RunJob& job, const RunResults& results) {
  const auto steps = static_cast<std::size_t>(job.warmup_step_count + job.step_count);
  bool complete = results.ranks.size() == plan.ranks.size();
  for (std::size_t rank = 0; complete && rank < results.ranks.size(); ++rank) {
    complete = results.ranks[rank].rank == static_cast<int>(rank) &&
               results.ranks[rank].step_s.size() == steps;
  }
  if (!complete) {
    throw Error(Failure::kRuntime, "the ranks' reports do not belong to one run of this plan",
                "give each run an output folder of its own (-o)");
  }
}

/// The value below which the share `quantile` of the sorted values lies, between neighbours linear.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

/// Durations of the measured steps, each as long as its slowest rank, sorted.
std::vector<double> measured_steps(const RunJob& job, const RunResults& results) {
  std::vector<double> steps(static_cast<std::size_t>(job.step_count), 0.0);
  const auto warmup = static_cast<std::size_t>(job.warmup_step_count);
  for (const RankReport& rank : results.ranks) {
    for (std::size_t step = 0; step < steps.size(); ++step) {
      steps[step] = std::max(steps[step], rank.step_s[warmup + step]);
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

ReportRow row(const Plan& plan, const RankReport& measured) {
  const PlanRank& predicted = plan.ranks[static_cast<std::size_t>(measured.rank)];
  ReportRow result;
  result.rank = measured.rank;
  const double samples = std::accumulate(plan.micro_batches.begin(), plan.micro_batches.end(), 0.0);
  const double micro_batches = samples / plan.micro_batch;
  bool first = true;
  for (const PlanStage& stage : plan.stages) {
    if (stage.rank != result.rank) continue;
    if (first) result.first_layer = stage.first_layer;
    first = false;
    result.layer_count += stage.layer_count;
    result.predicted_forward += stage.forward * micro_batches;
    result.predicted_backward += stage.backward * micro_batches;
  }
  result.predicted_optimizer = predicted.optimizer;
  result.predicted_reduction = predicted.reduction;
  result.predicted_idle = predicted.idle;
  result.predicted_peak = predicted.memory.total();
  result.measured_forward = measured.forward;
  result.measured_backward = measured.backward;
  result.measured_optimizer = measured.optimizer;
  result.measured_reduction = measured.reduction;
  result.measured_idle = measured.idle;
  result.measured_communication = measured.communication;
  result.measured_peak = measured.peak;
  result.measured_resident = measured.resident;
  return result;
}

/// All ranks' checks as one: the worst tensor of all. One that is no number is worse than any.
std::optional<GradientCheck> worst_check(const std::vector<RankReport>& ranks) {
  std::optional<GradientCheck> result;
  for (const RankReport& rank : ranks) {
    if (!rank.gradients) continue;
    const GradientCheck& check = *rank.gradients;
    if (!result) {
      result = check;
      continue;
    }
    const std::int64_t parameter_count = result->parameter_count + check.parameter_count;
    const bool passed = result->passed && check.passed;
    if (std::isnan(check.worst) || check.worst > result->worst) result = check;
    result->parameter_count = parameter_count;
    result->passed = passed;
  }
  return result;
}

std::vector<double> losses(const std::vector<RankReport>& ranks) {
  for (const RankReport& rank : ranks) {
    if (!rank.losses.empty()) return rank.losses;
  }
  return {};
}

}  // namespace

RunReport merge_reports(const Plan& plan, const RunJob& job, const RunResults& results) {
  require_complete(plan, job, results);
  RunReport report;
  report.tool_version = PPPLAN_VERSION;
  report.input_sha256 = results.plan_sha256;
  report.step_count = job.step_count;
  report.warmup_step_count = job.warmup_step_count;
  report.predicted_step = plan.predicted.step;
  report.predicted_tokens_per_s = plan.predicted.tokens_per_s;
  const std::vector<double> steps = measured_steps(job, results);
  const double median_s = quantile(steps, 0.5);
  report.measured_step = Seconds(median_s);
  if (median_s > 0.0) {
    report.measured_spread = (quantile(steps, 0.75) - quantile(steps, 0.25)) / 2.0 / median_s;
    report.measured_tokens_per_s = static_cast<double>(plan.constraints.global_batch) *
                                   static_cast<double>(plan.constraints.sequence) / median_s;
  }
  report.losses = losses(results.ranks);
  report.gradients = worst_check(results.ranks);
  if (results.reference) {
    report.reference_loss = results.reference->loss;
    if (!report.losses.empty() && results.reference->loss != 0.0) {
      report.loss_error = std::abs(report.losses.front() - results.reference->loss) /
                          std::abs(results.reference->loss);
    }
  }
  for (const RankReport& rank : results.ranks) report.ranks.push_back(row(plan, rank));
  report.kernels = results.kernels;
  report.warnings = results.warnings;
  return report;
}

}  // namespace ppplan::launch
