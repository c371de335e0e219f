#include "planner/pins.h"

#include "reports/documents/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

namespace ppplan::planner {
namespace {

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw Error(Failure::kBadInput, message, hint);
}

std::string in_words(const LayerPin& pin) {
  return pin.first_layer == pin.last_layer
             ? fmt::format("--pin {}={}", pin.first_layer, pin.stage)
             : fmt::format("--pin {}-{}={}", pin.first_layer, pin.last_layer, pin.stage);
}

/// One side of a boundary's limits with what set it.
struct Side {
  int layer = 0;
  std::string cause;
};

/// Both sides of every boundary, narrowed pin by pin.
class Boundaries {
 public:
  Boundaries(int layer_count, int stage_count)
      : layer_count_(layer_count),
        least_(static_cast<std::size_t>(stage_count) + 1),
        most_(static_cast<std::size_t>(stage_count) + 1, Side{layer_count, ""}) {
    most_.front().layer = 0;
    least_.back().layer = layer_count;
    if (stage_count == 1) return;
    at_least(1, 1, "the first stage, which takes the tokens in and so holds a layer");
    at_most(stage_count - 1, layer_count - 1,
            "the last stage, which makes the loss and so holds a layer");
  }

  void at_least(int boundary, int layer, const std::string& cause) {
    Side& side = least_[static_cast<std::size_t>(boundary)];
    if (layer > side.layer) side = {layer, cause};
  }
  void at_most(int boundary, int layer, const std::string& cause) {
    Side& side = most_[static_cast<std::size_t>(boundary)];
    if (layer < side.layer) side = {layer, cause};
  }

  /// A boundary is never before the one ahead of it.
  CutLimits resolve() {
    for (std::size_t at = 1; at < least_.size(); ++at) {
      if (least_[at - 1].layer > least_[at].layer) least_[at] = least_[at - 1];
    }
    for (std::size_t at = most_.size() - 1; at > 0; --at) {
      if (most_[at].layer < most_[at - 1].layer) most_[at - 1] = most_[at];
    }
    CutLimits limits;
    for (std::size_t at = 0; at < least_.size(); ++at) {
      if (least_[at].layer > most_[at].layer) contradict(least_[at], most_[at], at);
      limits.least.push_back(least_[at].layer);
      limits.most.push_back(most_[at].layer);
    }
    return limits;
  }

 private:
  [[noreturn]] void contradict(const Side& least, const Side& most, std::size_t boundary) const {
    const auto or_end = [&](const Side& side) {
      return side.cause.empty() ? fmt::format("the model's {} layers", layer_count_) : side.cause;
    };
    refuse(
        fmt::format("{} contradicts {}: stage {} would have to start with layer {} or later, and "
                    "with layer {} or earlier",
                    or_end(least), or_end(most), boundary, least.layer, most.layer),
        "stages hold the layers in order; change one of the two");
  }

  int layer_count_;
  std::vector<Side> least_;
  std::vector<Side> most_;
};

void apply_pin(Boundaries& boundaries, const LayerPin& pin, int layer_count, int stage_count) {
  if (pin.first_layer < 0 || pin.first_layer > pin.last_layer) {
    refuse(in_words(pin) + ": expected a layer or a range that rises", "such as --pin 0-3=0");
  }
  if (pin.last_layer >= layer_count) {
    refuse(fmt::format("{}: the model's last layer is {}", in_words(pin), layer_count - 1),
           "layers count from 0");
  }
  if (pin.stage < 0 || pin.stage >= stage_count) {
    refuse(
        fmt::format("{}: the last of {} stages is {}", in_words(pin), stage_count, stage_count - 1),
        "stages count from 0");
  }
  boundaries.at_most(pin.stage, pin.first_layer, in_words(pin));
  boundaries.at_least(pin.stage + 1, pin.last_layer + 1, in_words(pin));
}

void apply_counts(Boundaries& boundaries, const std::vector<int>& counts, int layer_count,
                  int stage_count) {
  const std::string flag = fmt::format("--layer-counts {}", fmt::join(counts, ","));
  if (std::ssize(counts) != stage_count) {
    refuse(fmt::format("{}: {} counts for {} stages", flag, counts.size(), stage_count),
           "give one count for each stage");
  }
  if (std::ranges::any_of(counts, [](int count) { return count < 0; }) || counts.front() < 1 ||
      counts.back() < 1) {
    refuse(flag + ": the first and the last stage hold at least one layer, no stage fewer than 0",
           "tokens enter at the first stage, labels at the last");
  }
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (sum != layer_count) {
    refuse(fmt::format("{}: {} layers in all, the model has {}", flag, sum, layer_count),
           "the counts of all stages add up to the model's layers");
  }
  int boundary = 0;
  for (int stage = 0; stage < stage_count; ++stage) {
    boundary += counts[static_cast<std::size_t>(stage)];
    boundaries.at_least(stage + 1, boundary, flag);
    boundaries.at_most(stage + 1, boundary, flag);
  }
}

}  // namespace

double CutLimits::bound(int stage, int first, int last) const {
  const auto at = static_cast<std::size_t>(stage);
  if (first < least[at] || first > most[at] || last > most[at + 1]) return kUnreachable;
  return last < least[at + 1] ? kBlocked : 0.0;
}

bool CutLimits::allow(const Cut& cut) const {
  for (std::size_t at = 0; at < cut.size(); ++at) {
    if (cut[at] < least[at] || cut[at] > most[at]) return false;
  }
  return true;
}

CutLimits cut_limits(const std::vector<LayerPin>& pins, const std::vector<int>& layer_counts,
                     int layer_count, int stage_count) {
  Boundaries boundaries(layer_count, stage_count);
  if (!layer_counts.empty()) apply_counts(boundaries, layer_counts, layer_count, stage_count);
  for (const LayerPin& pin : pins) apply_pin(boundaries, pin, layer_count, stage_count);
  return boundaries.resolve();
}

}  // namespace ppplan::planner
