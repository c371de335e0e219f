#include "reports/render/run_view.h"

#include "reports/documents/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace ppplan::render {
namespace {

constexpr Seconds kNoTime{1e-5};

constexpr double kLargestError = 9.99;

/// Signed, in percent; a dash where it would say nothing: against about nothing measured, or beyond
/// 999 %.
std::string error_text(double predicted, double measured, double nothing) {
  const double error = (predicted - measured) / measured;
  if (!(measured > nothing) || !(std::abs(error) <= kLargestError)) return "–";
  return fmt::format("{:+.1f} %", error * 100.0);
}

std::string error_text(Seconds predicted, Seconds measured) {
  return error_text(predicted.count(), measured.count(), kNoTime.count());
}

std::string error_text(Bytes predicted, Bytes measured) {
  return error_text(static_cast<double>(predicted.count), static_cast<double>(measured.count), 0.0);
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
    line(what, ppplan::human(predicted), ppplan::human(measured), error_text(predicted, measured));
  }
  void add(std::string_view what, Bytes predicted, Bytes measured) {
    line(what, human(predicted), human(measured), error_text(predicted, measured));
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
  if (row.measured_resident.count > 0) {
    lines.line("resident memory", "", human(row.measured_resident), "");
  }
}

std::string counted(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string table_text(const RunReport& report, const TableOptions& options) {
  Table table({{"rank", Align::kLeft},
               {"layers", Align::kLeft},
               {"one step", Align::kLeft},
               {"predicted"},
               {"measured"},
               {"error"}},
              fmt::format("Predicted beside measured: {} after {} of warm-up",
                          counted(report.step_count, "step"), report.warmup_step_count));
  for (const ReportRow& row : report.ranks) {
    add_rank(table, row);
    table.rule();
  }
  table.row({"all", "", "step time", ppplan::human(report.predicted_step),
             ppplan::human(report.measured_step),
             error_text(report.predicted_step, report.measured_step)});
  table.row({"", "", "tokens/s", rate_text(report.predicted_tokens_per_s),
             rate_text(report.measured_tokens_per_s),
             error_text(report.predicted_tokens_per_s, report.measured_tokens_per_s, 0.0)});
  return table.text(options) +
         "+ was predicted too high, - too low; – has too little measured, or misses by over 999 "
         "%\n";
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
        "gradients: {} the single process's, {} compared with tolerance {:.0e}\n"
        "  worst {:.1e}: {}\n",
        check.passed ? "equal to" : "NOT equal to", counted(check.parameter_count, "tensor"),
        check.tolerance, check.worst, check.worst_name);
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
    text += fmt::format("loss: {:.4f} at the first step, {:.4f} at the last ({})\n",
                        report.losses.front(), report.losses.back(),
                        counted(static_cast<std::int64_t>(report.losses.size()), "step"));
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
