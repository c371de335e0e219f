#include "reports/render/run_view.h"

#include "reports/documents/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace ppplan::render {
namespace {

constexpr Seconds kNoTime{1e-5};

/// Signed, in percent; empty where one of the two is nothing.
std::string error_text(double predicted, double measured) {
  if (!(predicted > 0.0) || !(measured > 0.0)) return {};
  return fmt::format("{:+.1f} %", (predicted - measured) / measured * 100.0);
}

std::string rate_text(double tokens_per_s) {
  return tokens_per_s < 100.0 ? fmt::format("{:.1f}", tokens_per_s)
                              : fmt::format("{:.0f}", tokens_per_s);
}

std::string layers_text(const ReportRow& row) {
  if (row.layer_count == 0) return "none";
  if (row.layer_count == 1) return fmt::format("{}", row.first_layer);
  return fmt::format("{}-{}", row.first_layer, row.first_layer + row.layer_count - 1);
}

/// Lines of one rank; the first carries its number and layers.
class RankLines {
 public:
  RankLines(Table& table, const ReportRow& row)
      : table_(table), rank_(fmt::format("{}", row.rank)), layers_(layers_text(row)) {}

  void add(std::string_view what, Seconds predicted, Seconds measured) {
    line(what, ppplan::human(predicted), ppplan::human(measured),
         error_text(predicted.count(), measured.count()));
  }
  void add(std::string_view what, Bytes predicted, Bytes measured) {
    line(what, human(predicted), human(measured),
         error_text(static_cast<double>(predicted.count), static_cast<double>(measured.count)));
  }
  void line(std::string_view what, std::string predicted, std::string measured, std::string error) {
    table_.row({rank_, layers_, std::string(what), std::move(predicted), std::move(measured),
                std::move(error)});
    rank_.clear();
    layers_.clear();
  }

 private:
  Table& table_;
  std::string rank_;
  std::string layers_;
};

void add_rank(Table& table, const ReportRow& row) {
  RankLines lines(table, row);
  lines.add("forward", row.predicted_forward, row.measured_forward);
  lines.add("backward", row.predicted_backward, row.measured_backward);
  lines.line("communication", "", ppplan::human(row.measured_communication), "");
  // Without shared weights there is only the time to see that there are none.
  if (std::max(row.predicted_reduction, row.measured_reduction) > kNoTime) {
    lines.add("shared weights", row.predicted_reduction, row.measured_reduction);
  }
  lines.add("optimizer", row.predicted_optimizer, row.measured_optimizer);
  lines.add("idle", row.predicted_idle, row.measured_idle);
  lines.add("peak memory", row.predicted_peak, row.measured_peak);
}

std::string table_text(const RunReport& report, const TableOptions& options) {
  Table table({{"rank", Align::kLeft},
               {"layers", Align::kLeft},
               {"one step", Align::kLeft},
               {"predicted"},
               {"measured"},
               {"error"}},
              fmt::format("Predicted beside measured: {} steps after {} of warm-up",
                          report.step_count, report.warmup_step_count));
  for (const ReportRow& row : report.ranks) {
    add_rank(table, row);
    table.rule();
  }
  table.row({"all", "", "step time", ppplan::human(report.predicted_step),
             ppplan::human(report.measured_step),
             error_text(report.predicted_step.count(), report.measured_step.count())});
  table.row({"", "", "tokens/s", rate_text(report.predicted_tokens_per_s),
             rate_text(report.measured_tokens_per_s),
             error_text(report.predicted_tokens_per_s, report.measured_tokens_per_s)});
  return table.text(options);
}

std::string verification_text(const RunReport& report) {
  std::string text;
  if (report.reference_loss && !report.losses.empty()) {
    text +=
        fmt::format("first step's loss: {:.6f}, single process {:.6f}, {:.1e} apart\n",
                    report.losses.front(), *report.reference_loss, report.loss_error.value_or(NAN));
  }
  if (report.gradients) {
    const GradientCheck& check = *report.gradients;
    text += fmt::format(
        "gradients: {} {} the single process's: {} tensors compared, worst {:.1e} ({}), tolerance "
        "{:.0e}\n",
        check.passed ? "equal" : "NOT", check.passed ? "to" : "equal to", check.parameter_count,
        check.worst, check.worst_name, check.tolerance);
  } else {
    text += "gradients: not compared with a single process\n";
  }
  return text;
}

void write_check(JsonWriter& json, const std::optional<GradientCheck>& check) {
  json.key("gradients");
  if (!check) {
    json.null();
    return;
  }
  json.begin_object()
      .member("parameter_count", check->parameter_count)
      .member("worst", check->worst)
      .member("worst_name", check->worst_name)
      .member("worst_ratio", check->worst_ratio)
      .member("tolerance", check->tolerance)
      .member("passed", check->passed)
      .end_object();
}

void write_row(JsonWriter& json, const ReportRow& row) {
  json.begin_object()
      .member("rank", row.rank)
      .member("first_layer", row.first_layer)
      .member("layer_count", row.layer_count)
      .member("predicted_forward_s", row.predicted_forward)
      .member("measured_forward_s", row.measured_forward)
      .member("predicted_backward_s", row.predicted_backward)
      .member("measured_backward_s", row.measured_backward)
      .member("predicted_optimizer_s", row.predicted_optimizer)
      .member("measured_optimizer_s", row.measured_optimizer)
      .member("predicted_reduction_s", row.predicted_reduction)
      .member("measured_reduction_s", row.measured_reduction)
      .member("predicted_idle_s", row.predicted_idle)
      .member("measured_idle_s", row.measured_idle)
      .member("measured_communication_s", row.measured_communication)
      .member("predicted_peak_bytes", row.predicted_peak)
      .member("measured_peak_bytes", row.measured_peak)
      .member("measured_resident_bytes", row.measured_resident)
      .end_object();
}

void write_kernels(JsonWriter& json, const Kernels& kernels) {
  json.key("kernels")
      .begin_object()
      .member("torch", kernels.torch)
      .member("attention", kernels.attention)
      .member("blas", kernels.blas)
      .member("precision", kernels.precision)
      .member("threads", kernels.threads)
      .member("pinned", kernels.pinned)
      .end_object();
}

}  // namespace

std::string run_view(const RunReport& report, const TableOptions& options) {
  std::string text = table_text(report, options) + "\n";
  if (!report.losses.empty()) {
    text += fmt::format("loss: {:.4f} at the first step, {:.4f} at the last ({} steps)\n",
                        report.losses.front(), report.losses.back(), report.losses.size());
  }
  return text + verification_text(report);
}

std::string run_json(const RunReport& report) {
  JsonWriter json;
  json.begin_object()
      .member("tool_version", report.tool_version)
      .member("input_sha256", report.input_sha256)
      .member("step_count", report.step_count)
      .member("warmup_step_count", report.warmup_step_count)
      .member("predicted_step_s", report.predicted_step)
      .member("measured_step_s", report.measured_step)
      .member("measured_spread", report.measured_spread)
      .member("predicted_tokens_per_s", report.predicted_tokens_per_s)
      .member("measured_tokens_per_s", report.measured_tokens_per_s)
      .member("losses", report.losses)
      .member("reference_loss", report.reference_loss)
      .member("loss_error", report.loss_error);
  write_check(json, report.gradients);
  json.key("ranks").begin_array();
  for (const ReportRow& row : report.ranks) write_row(json, row);
  json.end_array();
  write_kernels(json, report.kernels);
  json.member("warnings", report.warnings).end_object();
  return json.take();
}

}  // namespace ppplan::render
