#include "reports/render/profile_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace ppplan::render {
namespace {

/// The measurements of one layer kind at one shape.
struct Pair {
  const Measurement* alone = nullptr;
  const Measurement* busy = nullptr;
};

using Shape = std::tuple<int, std::int64_t, int>;  // kind, sequence, micro-batch

std::map<Shape, Pair> pairs(const Profile& profile) {
  std::map<Shape, Pair> result;
  for (const Measurement& row : profile.measurements) {
    Pair& pair = result[{row.kind, row.sequence, row.micro_batch}];
    if (row.concurrent_workers == 1) {
      pair.alone = &row;
    } else if (pair.busy == nullptr || row.concurrent_workers > pair.busy->concurrent_workers) {
      pair.busy = &row;
    }
  }
  return result;
}

std::string time_text(const Measurement* row, Timing Measurement::*timing) {
  return row == nullptr ? std::string{} : ppplan::human((row->*timing).median);
}

std::string remark(const Pair& pair) {
  double spread = 0.0;
  bool stable = true;
  for (const Measurement* row : {pair.alone, pair.busy}) {
    if (row == nullptr) continue;
    stable = stable && row->stable;
    spread = std::max({spread, row->forward.spread, row->backward.spread});
  }
  return fmt::format("±{:.1f} %{}", spread * 100.0, stable ? "" : " unstable");
}

/// A line for what a link's name does not say.
std::string_view link_remark(std::string_view name) {
  return name == "exchange" ? "  both directions at once, as tied weights' gradients go\n" : "";
}

std::string links_text(const Profile& profile) {
  std::string text;
  for (const Link& link : profile.links) {
    text += fmt::format("link {} ({}): latency {}, bandwidth {}, fit within {:.0f} %\n{}",
                        link.name, link.backend, ppplan::human(link.latency), human(link.bandwidth),
                        link.fit_error * 100.0, link_remark(link.name));
  }
  return text;
}

std::string unstable_text(const Profile& profile) {
  const auto count = std::count_if(profile.measurements.begin(), profile.measurements.end(),
                                   [](const Measurement& row) { return !row.stable; });
  if (count == 0) return {};
  return fmt::format(
      "{} of {} measurements (alone and busy are two) are unstable: ±{:.1f} % was asked for;\n"
      "a larger --row-budget or an idle machine helps\n",
      count, profile.measurements.size(), profile.target_spread * 100.0);
}

}  // namespace

std::string profile_view(const Profile& profile, const TableOptions& options) {
  Table table({{"layer", Align::kLeft, Fit::kShorten},
               {"shape"},
               {"forward alone"},
               {"busy"},
               {"backward alone"},
               {"busy"},
               {"saved"},
               {"spread", Align::kLeft}},
              fmt::format("{} on {} x {}", profile.model.name, profile.devices.size(),
                          profile.devices.empty() ? "no device" : profile.devices.front().name));
  for (const auto& [shape, pair] : pairs(profile)) {
    const auto& [kind, sequence, micro_batch] = shape;
    const Measurement* any = pair.alone != nullptr ? pair.alone : pair.busy;
    table.row({profile.model.kinds[static_cast<std::size_t>(kind)].name,
               fmt::format("{} x {}", micro_batch, sequence),
               time_text(pair.alone, &Measurement::forward),
               time_text(pair.busy, &Measurement::forward),
               time_text(pair.alone, &Measurement::backward),
               time_text(pair.busy, &Measurement::backward), human(any->saved), remark(pair)});
  }
  return table.text(options) + links_text(profile) + unstable_text(profile);
}

}  // namespace ppplan::render
