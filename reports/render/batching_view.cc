#include "reports/render/batching_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace ppplan::render {
namespace {

constexpr std::size_t kMostRows = 32;

const std::string& name_of(BatchingMethod method) {
  return batching_method_words()[static_cast<std::size_t>(method)];
}

std::string fullest(const std::vector<Bytes>& peaks) {
  return peaks.empty() ? "-" : human(std::ranges::max(peaks));
}

std::string methods_text(const Batching& batching, const TableOptions& options) {
  Table table({{"method", Align::kLeft},
               {"of", Align::kLeft, Fit::kShorten},
               {"count"},
               {"tokens/s"},
               {"real"},
               {"stall"},
               {"static"},
               {"dynamic"},
               {"why not", Align::kLeft, Fit::kShorten}},
              "Micro-batches of samples of different lengths");
  for (const BatchingOutcome& one : batching.compared) {
    const bool judged = one.tokens_per_s > 0.0;
    const auto figure = [&](const std::string& text) { return judged ? text : "-"; };
    table.row({name_of(one.method), one.setting,
               figure(fmt::format("{:.1f}", one.micro_batch_count)),
               figure(human_count(one.tokens_per_s)),
               figure(fmt::format("{:.1f} %", 100.0 * one.padding_efficiency)),
               figure(human(one.stall)), fullest(one.static_peaks), fullest(one.dynamic_peaks),
               one.reason.empty() ? "chosen" : one.reason});
  }
  return table.text(options) + fmt::format(
                                   "over {} sampled steps; real: share of the computed tokens; "
                                   "stall: lost a step because\n"
                                   "micro-batches differ; static, dynamic: the fullest rank's peak "
                                   "with that memory_pool\n",
                                   batching.sampled_batches);
}

std::string ranks_text(const BatchingOutcome& chosen, const std::vector<Bytes>& allowed,
                       const TableOptions& options) {
  Table table({{"rank"}, {"stall"}, {"static"}, {"dynamic"}, {"limit"}},
              fmt::format("Of {}, by rank", name_of(chosen.method)));
  const std::size_t count = std::min(chosen.rank_stalls.size(), allowed.size());
  for (std::size_t rank = 0; rank < std::min(count, kMostRows); ++rank) {
    table.row({std::to_string(rank), human(chosen.rank_stalls[rank]),
               human(chosen.static_peaks[rank]), human(chosen.dynamic_peaks[rank]),
               human(allowed[rank])});
  }
  std::string text = table.text(options);
  if (count > kMostRows) text += fmt::format("… {} more ranks\n", count - kMostRows);
  return text;
}

/// "smallest first", "thirds by size in the order largest, smallest, middle; each rising".
std::string order_in_words(const Batching& batching) {
  const bool falling = batching.order_within == RunOrder::kFalling;
  if (batching.order == std::vector<int>{0, 1, 2} && !falling) return "smallest first";
  if (batching.order == std::vector<int>{2, 1, 0} && falling) return "largest first";
  static constexpr const char* kThirds[] = {"smallest", "middle", "largest"};
  std::string words = "thirds by size in the order ";
  for (std::size_t at = 0; at < batching.order.size(); ++at) {
    words += (at == 0 ? "" : ", ") + std::string(kThirds[batching.order[at]]);
  }
  return words + (falling ? "; each falling" : "; each rising");
}

void write_outcome(JsonWriter& json, const BatchingOutcome& one) {
  json.begin_object()
      .member("method", name_of(one.method))
      .member("setting", one.setting)
      .member("micro_batch_count", one.micro_batch_count)
      .member("tokens_per_s", one.tokens_per_s)
      .member("padding_efficiency", one.padding_efficiency)
      .member("step_s", one.step)
      .member("stall_s", one.stall)
      .member("rank_stalls_s", one.rank_stalls)
      .member("static_peak_bytes", one.static_peaks)
      .member("dynamic_peak_bytes", one.dynamic_peaks)
      .member("reason", one.reason)
      .end_object();
}

}  // namespace

std::string batching_text(const Batching& batching, const std::vector<Bytes>& allowed,
                          const TableOptions& options) {
  std::string text = methods_text(batching, options);
  for (const BatchingOutcome& one : batching.compared) {
    if (one.reason.empty()) text += '\n' + ranks_text(one, allowed, options);
  }
  text += fmt::format("micro-batches run {}\n", order_in_words(batching));
  text +=
      batching.packed_cost == PackedCost::kBySample
          ? "packed rows are priced with attention within each sample, as the trainer must "
            "mask it\n"
          : "packed rows are priced by tokens alone: the profile has one sequence length only\n";
  if (batching.cut_samples > 0) {
    text +=
        fmt::format("{} samples are cut to {} tokens\n", batching.cut_samples, batching.longest);
  }
  text += "for your own loader: run and export still take samples of one length\n";
  return text;
}

void write_batching(JsonWriter& json, const Batching& batching) {
  const auto word = [](const auto value, const std::vector<std::string>& words) {
    return words[static_cast<std::size_t>(value)];
  };
  json.begin_object()
      .member("method", name_of(batching.method))
      .member("memory_pool", word(batching.memory_pool, memory_pool_words()))
      .member("longest", batching.longest)
      .member("order", batching.order)
      .member("order_within", word(batching.order_within, run_order_words()))
      .member("packed_cost", word(batching.packed_cost, packed_cost_words()))
      .member("sampled_batches", batching.sampled_batches)
      .member("seed", batching.seed)
      .member("cut_samples", batching.cut_samples);
  json.key("compared").begin_array();
  for (const BatchingOutcome& one : batching.compared) write_outcome(json, one);
  json.end_array().end_object();
}

}  // namespace ppplan::render
