#include "reports/render/sweep_view.h"

#include "reports/documents/json_writer.h"
#include "reports/render/rivals_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ppplan::render {
namespace {

bool has_plan(const SweepPoint& point) {
  return point.why_not.empty();
}

/// Against the smallest number of devices that has a plan.
double speedup(const SweepView& view, const SweepPoint& point) {
  const auto first = std::ranges::find_if(view.points, has_plan);
  return point.plan.tokens_per_s / first->plan.tokens_per_s;
}

std::optional<double> cost(const SweepView& view, const SweepPoint& point) {
  if (!view.price || point.plan.tokens_per_s <= 0.0) return std::nullopt;
  return cost_per_billion_tokens(*view.price, point.plan.device_count, point.plan.tokens_per_s);
}

std::string other_in_words(const SweepPoint& point) {
  if (!point.other) return "nothing else fits";
  return fmt::format("{} {}", human(point.other->step), short_layout(point.other->layout));
}

std::string plans_text(const SweepView& view, const TableOptions& options) {
  Table table({{"devices"},
               {"layout", Align::kLeft, Fit::kShorten},
               {"schedule", Align::kLeft, Fit::kShorten},
               {"micro"},
               {"step"},
               {"peak"},
               {"worth it", Align::kLeft},
               {"without a pipeline", Align::kLeft, Fit::kShorten}},
              fmt::format("{}: best plans of a batch of {} x {} tokens", view.model,
                          view.global_batch, view.sequence));
  for (const SweepPoint& point : view.points) {
    const std::string devices = fmt::to_string(point.device_count);
    if (!has_plan(point)) {
      table.row({devices, "no plan fits"});
      continue;
    }
    table.row({devices, short_layout(point.plan.layout), point.schedule,
               fmt::to_string(point.plan.micro_batch), human(point.plan.step),
               human(point.plan.peak), point.worth_it ? "yes" : "no", other_in_words(point)});
  }
  std::string text = table.text(options) + short_layout_legend();
  for (const SweepPoint& point : view.points) {
    if (!has_plan(point)) text += fmt::format("on {}: {}\n", point.device_count, point.why_not);
  }
  return text;
}

std::string rates_text(const SweepView& view, const TableOptions& options) {
  const bool knows_mfu =
      std::ranges::any_of(view.points, [](const SweepPoint& point) { return point.mfu > 0.0; });
  std::vector<Column> columns{{"devices"}, {"tokens/s"}, {"per device"}};
  if (knows_mfu) columns.push_back({"MFU"});
  if (view.price) columns.push_back({"dollars/billion tokens"});
  columns.push_back({"speed-up"});
  columns.push_back({"of ideal"});
  Table table(std::move(columns), "What they give");
  const auto first = std::ranges::find_if(view.points, has_plan);
  for (const SweepPoint& point : view.points) {
    if (!has_plan(point)) {
      table.row({fmt::to_string(point.device_count), "–"});
      continue;
    }
    const double gain = speedup(view, point);
    const double ideal = static_cast<double>(point.device_count) / first->device_count;
    std::vector<std::string> cells{fmt::to_string(point.device_count),
                                   human_count(point.plan.tokens_per_s),
                                   human_count(point.plan.tokens_per_s / point.plan.device_count)};
    if (knows_mfu) cells.push_back(fmt::format("{:.1f} %", 100.0 * point.mfu));
    if (view.price) cells.push_back(fmt::format("{:.2f}", cost(view, point).value_or(0.0)));
    cells.push_back(fmt::format("{:.2f}", gain));
    cells.push_back(fmt::format("{:.0f} %", 100.0 * gain / ideal));
    table.row(std::move(cells));
  }
  return table.text(options);
}

void write_point(JsonWriter& json, const SweepView& view, const SweepPoint& point) {
  json.begin_object().member("devices", point.device_count).member("fits", has_plan(point));
  if (!has_plan(point)) {
    json.member("why_not", point.why_not).end_object();
    return;
  }
  const Rival& plan = point.plan;
  json.member("used_devices", plan.device_count)
      .member("layout", plan.layout)
      .member("schedule", point.schedule)
      .member("micro_batch", plan.micro_batch)
      .member("step_s", plan.step)
      .member("tokens_per_s", plan.tokens_per_s)
      .member("tokens_per_s_per_device", plan.tokens_per_s / plan.device_count)
      .member("mfu", point.mfu > 0.0 ? std::optional(point.mfu) : std::nullopt)
      .member("dollars_per_billion_tokens", cost(view, point))
      .member("speedup", speedup(view, point))
      .member("peak_bytes", plan.peak)
      .member("worth_it", point.worth_it);
  if (point.other) {
    json.key("without_pipeline")
        .begin_object()
        .member("way", point.other->way)
        .member("layout", point.other->layout)
        .member("step_s", point.other->step)
        .end_object();
  }
  json.end_object();
}

}  // namespace

std::string sweep_text(const SweepView& view, const TableOptions& options) {
  const bool any = std::ranges::any_of(view.points, has_plan);
  return plans_text(view, options) + (any ? '\n' + rates_text(view, options) : "");
}

std::string sweep_json(const SweepView& view) {
  JsonWriter json;
  json.begin_object()
      .member("model", view.model)
      .member("global_batch", view.global_batch)
      .member("sequence", view.sequence)
      .member("price_per_device_hour", view.price);
  json.key("points").begin_array();
  for (const SweepPoint& point : view.points) write_point(json, view, point);
  json.end_array();
  return json.end_object().take();
}

}  // namespace ppplan::render
