#include "reports/render/estimate_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace ppplan::render {
namespace {

std::string title(const Profile& profile) {
  const Cluster cluster =
      profile.cluster.value_or(Cluster{1, static_cast<int>(profile.devices.size())});
  const std::string name = profile.devices.empty() ? "no device" : profile.devices.front().name;
  return fmt::format("{} on {} x {} in {} node{}: estimated from the data sheet",
                     profile.model.name, cluster.device_count(), name, cluster.node_count,
                     cluster.node_count == 1 ? "" : "s");
}

std::string links_text(const Profile& profile) {
  std::string text;
  for (const Link& link : profile.links) {
    text += fmt::format("link {} ({} nodes): latency {}, bandwidth {}\n", link.name,
                        link.scope == LinkScope::kInside ? "inside" : "between",
                        ppplan::human(link.latency), human(link.bandwidth));
  }
  return text;
}

}  // namespace

std::string estimate_view(const Profile& profile, const TableOptions& options) {
  static constexpr std::array<std::string_view, 3> kRecompute = {"", "attention", "all"};
  int micro_batch = 0;
  std::int64_t sequence = 0;
  for (const Measurement& row : profile.measurements) {
    micro_batch = micro_batch == 0 ? row.micro_batch : std::min(micro_batch, row.micro_batch);
    sequence = std::max(sequence, row.sequence);
  }
  Table table({{"layer", Align::kLeft, Fit::kShorten},
               {"shape"},
               {"tensor"},
               {"recomputed", Align::kLeft},
               {"forward"},
               {"backward"},
               {"saved"},
               {"peak"}},
              title(profile));
  for (const Measurement& row : profile.measurements) {
    const bool is_shown = row.micro_batch == micro_batch && row.sequence == sequence &&
                          row.recompute_chunk == 0 && row.sharding.context == 1;
    if (!is_shown) continue;
    table.row({profile.model.kinds[static_cast<std::size_t>(row.kind)].name,
               fmt::format("{} x {}", row.micro_batch, row.sequence),
               fmt::format("{}", row.sharding.tensor),
               std::string(kRecompute.at(static_cast<std::size_t>(row.recompute))),
               ppplan::human(row.forward.median), ppplan::human(row.backward.median),
               human(row.saved), human(std::max(row.forward_peak, row.backward_peak))});
  }
  return table.text(options) +
         "saved: kept from forward to backward; peak: most above the start of either\n" +
         links_text(profile) +
         fmt::format("{} rows in all: larger micro-batches, other sequences and degrees, chunks\n",
                     profile.measurements.size());
}

}  // namespace ppplan::render
