#include "reports/render/rivals_view.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace ppplan::render {
namespace {

/// Of the words of layouts, those in front of a degree and those that stand alone.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShort{
    {{"pipeline ", "pp"},
     {"tensor ", "tp"},
     {"context ", "cp"},
     {"expert ", "ep"},
     {"data ", "dp"},
     {"optimizer sharded", "zero-1"},
     {"fully sharded", "zero-3"}}};

std::string short_word(std::string_view word) {
  for (const auto& [whole, brief] : kShort) {
    if (word.starts_with(whole)) return std::string(brief) + std::string(word.substr(whole.size()));
  }
  return std::string(word);
}

double per_device(const Rival& rival) {
  return rival.device_count > 0 ? rival.tokens_per_s / rival.device_count : 0.0;
}

/// The model and the devices are the plan's: utilizations are to one another as tokens a device.
double mfu(const RivalsView& view, const Rival& rival) {
  const Prediction& own = view.plan->predicted;
  return own.tokens_per_s_per_device > 0.0
             ? own.mfu * per_device(rival) / own.tokens_per_s_per_device
             : 0.0;
}

std::optional<double> cost(const RivalsView& view, const Rival& rival) {
  if (!view.price || rival.tokens_per_s <= 0.0) return std::nullopt;
  return cost_per_billion_tokens(*view.price, rival.device_count, rival.tokens_per_s);
}

/// "data parallel, optimizer sharded" -> "data, optimizer sharded": that the ways are parallel is
/// plain.
std::string short_way(std::string way) {
  constexpr std::string_view kPlain = " parallel";
  for (auto at = way.find(kPlain); at != std::string::npos; at = way.find(kPlain)) {
    way.erase(at, kPlain.size());
  }
  return way;
}

std::vector<Rival> rows_of(const RivalsView& view) {
  std::vector<Rival> rows{view.own};
  rows.insert(rows.end(), view.plan->rivals.begin(), view.plan->rivals.end());
  return rows;
}

}  // namespace

double cost_per_billion_tokens(double price, int device_count, double tokens_per_s) {
  constexpr double kHour_s = 3600.0;
  return price / kHour_s * device_count / tokens_per_s * 1e9;
}

std::string short_layout(const std::string& layout) {
  std::string words;
  for (std::size_t at = 0; at < layout.size();) {
    const std::size_t end = std::min(layout.find(", ", at), layout.size());
    words += (words.empty() ? "" : " ") + short_word(std::string_view(layout).substr(at, end - at));
    at = end + 2;
  }
  return words;
}

std::string short_layout_legend() {
  return "pp pipeline, tp tensor, cp context, dp data parallel; zero-1 optimizer sharded, zero-3 "
         "fully sharded\n";
}

std::string rivals_text(const RivalsView& view, const TableOptions& options) {
  if (view.plan->rivals.empty()) return "";
  const bool knows_mfu = view.plan->predicted.mfu > 0.0;
  std::vector<Column> columns{{"way", Align::kLeft, Fit::kShorten},
                              {"layout", Align::kLeft, Fit::kShorten},
                              {"micro"},
                              {"step"},
                              {"tokens/s"},
                              {"each"}};
  if (knows_mfu) columns.push_back({"MFU"});
  if (view.price) columns.push_back({"$/B"});
  columns.push_back({"peak"});
  Table table(std::move(columns), "Other ways, on as many devices");
  bool all_fit = true;
  for (const Rival& rival : rows_of(view)) {
    std::vector<std::string> cells{
        short_way(rival.way), short_layout(rival.layout),      fmt::to_string(rival.micro_batch),
        human(rival.step),    human_count(rival.tokens_per_s), human_count(per_device(rival))};
    if (knows_mfu) cells.push_back(fmt::format("{:.1f} %", 100.0 * mfu(view, rival)));
    if (view.price) {
      const std::optional<double> dollars = cost(view, rival);
      cells.push_back(dollars ? fmt::format("{:.2f}", *dollars) : "");
    }
    cells.push_back(human(rival.peak) + (rival.fits ? " " : "*"));
    all_fit = all_fit && rival.fits;
    table.row(std::move(cells));
  }
  return table.text(options) + short_layout_legend() + "each: tokens a second of one device" +
         (view.price ? "; $/B: dollars a billion tokens" : "") +
         (all_fit ? "\n" : "; * does not fit\n");
}

void write_rivals(JsonWriter& json, const RivalsView& view) {
  json.begin_array();
  for (const Rival& rival : rows_of(view)) {
    const double utilization = mfu(view, rival);
    json.begin_object()
        .member("way", rival.way)
        .member("layout", rival.layout)
        .member("devices", rival.device_count)
        .member("micro_batch", rival.micro_batch)
        .member("step_s", rival.step)
        .member("tokens_per_s", rival.tokens_per_s)
        .member("tokens_per_s_per_device", per_device(rival))
        .member("mfu", utilization > 0.0 ? std::optional(utilization) : std::nullopt)
        .member("dollars_per_billion_tokens", cost(view, rival))
        .member("peak_bytes", rival.peak)
        .member("fits", rival.fits)
        .end_object();
  }
  json.end_array();
}

}  // namespace ppplan::render
