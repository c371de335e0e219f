#include "reports/documents/run_report.h"

#include "reports/documents/described.h"
#include "reports/documents/file.h"
#include "reports/documents/mapping.h"

namespace ppplan {
namespace {

constexpr Schema kRankSchema = {"rank_report", 1};
constexpr Schema kRunSchema = {"run_report", 1};
constexpr IntegerRange kRank = {0, 65'535};
constexpr IntegerRange kLayer = {0, 100'000};

}  // namespace

template <typename Io>
void describe(Io& io, Like<GradientCheck> auto& check) {
  io("parameter_count", check.parameter_count);
  io.any("worst", check.worst);
  io("worst_name", check.worst_name);
  io.any("worst_ratio", check.worst_ratio);
  io("tolerance", check.tolerance);
  io("passed", check.passed);
}

template <typename Io>
void describe(Io& io, Like<RankReport> auto& report) {
  io.tool_version();
  io("rank", report.rank, kRank);
  io("stage", report.stage, kRank);
  io("forward_s", report.forward);
  io("backward_s", report.backward);
  io("communication_s", report.communication);
  io("reduction_s", report.reduction);
  io("optimizer_s", report.optimizer);
  io("idle_s", report.idle);
  io("peak_bytes", report.peak);
  io("resident_bytes", report.resident);
  io("step_s", report.step_s);
  io.any("losses", report.losses);
  io.optional_row("gradients", report.gradients);
}

template <typename Io>
void describe(Io& io, Like<ReportRow> auto& row) {
  io("rank", row.rank, kRank);
  io("first_layer", row.first_layer, kLayer);
  io("layer_count", row.layer_count, kLayer);
  io("predicted_forward_s", row.predicted_forward);
  io("measured_forward_s", row.measured_forward);
  io("predicted_backward_s", row.predicted_backward);
  io("measured_backward_s", row.measured_backward);
  io("predicted_optimizer_s", row.predicted_optimizer);
  io("measured_optimizer_s", row.measured_optimizer);
  io("predicted_reduction_s", row.predicted_reduction);
  io("measured_reduction_s", row.measured_reduction);
  io("predicted_idle_s", row.predicted_idle);
  io("measured_idle_s", row.measured_idle);
  io("measured_communication_s", row.measured_communication);
  io("predicted_peak_bytes", row.predicted_peak);
  io("measured_peak_bytes", row.measured_peak);
  io("measured_resident_bytes", row.measured_resident);
}

template <typename Io>
void describe(Io& io, Like<RunReport> auto& report) {
  io("tool_version", report.tool_version);
  io("input_sha256", report.input_sha256);
  io("step_count", report.step_count);
  io("warmup_step_count", report.warmup_step_count);
  io("predicted_step_s", report.predicted_step);
  io("measured_step_s", report.measured_step);
  io("measured_spread", report.measured_spread);
  io("predicted_tokens_per_s", report.predicted_tokens_per_s);
  io("measured_tokens_per_s", report.measured_tokens_per_s);
  io.any("losses", report.losses);
  io.optional_any("reference_loss", report.reference_loss);
  io.optional_any("loss_error", report.loss_error);
  io.optional_row("gradients", report.gradients);
  io.rows("ranks", report.ranks);
  io.row("kernels", report.kernels);
  io.lines("warnings", report.warnings);
}

RankReport load_rank_report(const std::filesystem::path& path) {
  return read_document<RankReport>(read_file(path), path.string(), kRankSchema);
}

std::string write_rank_report(const RankReport& report) {
  return write_document(report, kRankSchema);
}

RunReport read_run_report(std::string_view text, const std::string& name) {
  return read_document<RunReport>(text, name, kRunSchema);
}

RunReport load_run_report(const std::filesystem::path& path) {
  return read_run_report(read_file(path), path.string());
}

std::string write_run_report(const RunReport& report) {
  return write_document(report, kRunSchema);
}

}  // namespace ppplan
