// run/report.yaml: predicted beside measured. Each rank writes its own rank<r>.yaml, from which the
// launcher makes the report.
#pragma once

#include "reports/documents/profile.h"
#include "reports/documents/units.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ppplan {

/// Largest disagreement between a rank's gradients and the single-process run's.
struct GradientCheck {
  std::int64_t parameter_count = 0;  ///< tensors compared
  double worst = 0.0;                ///< largest ||g - ref|| / ||ref|| over the tensors
  std::string worst_name;
  double worst_ratio = 1.0;  ///< <g, ref> / <ref, ref> there: 8 means "off by 8"
  double tolerance = 0.0;
  bool passed = true;
  bool operator==(const GradientCheck&) const = default;
};

/// One rank's figures; times are medians over measured steps, of one step.
struct RankReport {
  int rank = 0;
  int stage = 0;
  Seconds forward{0};
  Seconds backward{0};
  Seconds communication{0};  ///< blocked in or issuing transfers
  Seconds reduction{0};      ///< shared (tied) weights' gradients
  Seconds optimizer{0};
  Seconds idle{0};             ///< waiting for another rank
  Bytes peak;                  ///< allocator's, tensors only
  Bytes resident;              ///< the process's, libraries included
  std::vector<double> step_s;  ///< every step, warm-up included
  std::vector<double> losses;  ///< of every step; the last stage's rank only
  std::optional<GradientCheck> gradients;
  bool operator==(const RankReport&) const = default;
};

RankReport load_rank_report(const std::filesystem::path& path);
std::string write_rank_report(const RankReport& report);

/// Predicted beside measured of one rank.
struct ReportRow {
  int rank = 0;
  int first_layer = 0;
  int layer_count = 0;
  Seconds predicted_forward{0}, measured_forward{0};
  Seconds predicted_backward{0}, measured_backward{0};
  Seconds predicted_optimizer{0}, measured_optimizer{0};
  Seconds predicted_reduction{0}, measured_reduction{0};
  Seconds predicted_idle{0}, measured_idle{0};
  Seconds measured_communication{0};
  Bytes predicted_peak, measured_peak;
  Bytes measured_resident;
  bool operator==(const ReportRow&) const = default;
};

struct RunReport {
  std::string tool_version;
  std::string input_sha256;  ///< of the plan
  int step_count = 0;        ///< measured, without warm-up
  int warmup_step_count = 0;
  Seconds predicted_step{0}, measured_step{0};  ///< median
  double measured_spread = 0.0;                 ///< half inter-quartile range / median
  double predicted_tokens_per_s = 0.0, measured_tokens_per_s = 0.0;
  std::vector<double> losses;              ///< every step, warm-up included
  std::optional<double> reference_loss;    ///< of the first step, single process
  std::optional<double> loss_error;        ///< relative, first step
  std::optional<GradientCheck> gradients;  ///< the worst rank's
  std::vector<ReportRow> ranks;
  Kernels kernels;
  std::vector<std::string> warnings;
  bool operator==(const RunReport&) const = default;
};

RunReport read_run_report(std::string_view text, const std::string& name);
RunReport load_run_report(const std::filesystem::path& path);
std::string write_run_report(const RunReport& report);

}  // namespace ppplan
