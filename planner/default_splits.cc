#include "planner/default_splits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace ppplan::planner {
namespace {

/// Beyond so many steps of least_spread nobody waits for DeepSpeed either.
constexpr double kMostSpreadSteps = 3e8;

std::size_t index_of(int at) {
  return static_cast<std::size_t>(at);
}

/// The blocks of a model: layers [first, last). What is before them counts as embedding, what is
/// after them as head.
struct Blocks {
  int first = 0;
  int last = 0;
  [[nodiscard]] int count() const { return last - first; }
};

Blocks blocks_of(const Model& model) {
  const auto is_block = [&](const Layer& layer) {
    return model.kinds[index_of(layer.kind)].role == LayerRole::kBlock;
  };
  const auto& layers = model.layers;
  const auto first = std::ranges::find_if(layers, is_block);
  const auto last = std::find_if(layers.rbegin(), layers.rend(), is_block).base();
  if (first == layers.end()) return {};
  return {static_cast<int>(first - layers.begin()), static_cast<int>(last - layers.begin())};
}

TrainerSplit megatron(const Blocks& blocks, int layer_count, int stage_count) {
  TrainerSplit split{"Megatron-LM", "equal blocks", {}, ""};
  if (blocks.count() == 0 || blocks.count() % stage_count != 0) {
    split.refusal =
        fmt::format("{} blocks do not divide into {} stages", blocks.count(), stage_count);
    return split;
  }
  split.cut = even_parts(blocks.count(), stage_count);
  for (int& boundary : split.cut) boundary += blocks.first;
  split.cut.front() = 0;
  split.cut.back() = layer_count;
  return split;
}

TrainerSplit torchtitan(const Blocks& blocks, int layer_count, int stage_count) {
  TrainerSplit split{"torchtitan", "equal blocks, embedding and head as one each", {}, ""};
  const int weighed = blocks.count() + 2;
  if (blocks.count() == 0 || stage_count > weighed) {
    split.refusal = fmt::format("{} blocks, embedding and head do not fill {} stages",
                                blocks.count(), stage_count);
    return split;
  }
  split.cut = even_parts(weighed, stage_count);
  for (int& boundary : split.cut) {
    boundary = boundary == weighed ? layer_count
               : boundary == 0     ? 0
                                   : blocks.first + std::min(boundary - 1, blocks.count());
  }
  return split;
}

TrainerSplit deepspeed_parameters(const Model& model, int stage_count) {
  TrainerSplit split{"DeepSpeed", "parameters", {}, ""};
  const auto layer_count = static_cast<double>(model.layers.size());
  if (layer_count * layer_count * stage_count > kMostSpreadSteps) {
    split.refusal = "too many layers for its own rule, which takes cubic time";
    return split;
  }
  std::vector<std::int64_t> weights;
  for (const Layer& layer : model.layers) {
    weights.push_back(layer.frozen ? 0 : parameter_count(model.kinds[index_of(layer.kind)]));
  }
  split.cut = least_spread(weights, stage_count);
  return split;
}

}  // namespace

Cut even_parts(int item_count, int part_count) {
  Cut cut{0};
  for (int part = 0; part < part_count; ++part) {
    cut.push_back(cut.back() + item_count / part_count + (part < item_count % part_count ? 1 : 0));
  }
  return cut;
}

Cut least_spread(const std::vector<std::int64_t>& weights, int part_count) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  struct Best {
    double largest = kNone;
    double smallest = kNone;
    double spread = kNone;
    int last_begin = 0;
  };
  const auto count = static_cast<int>(weights.size());
  std::vector<double> before{0.0};
  for (const std::int64_t weight : weights) {
    before.push_back(before.back() + static_cast<double>(weight));
  }
  std::vector<std::vector<Best>> best(index_of(part_count) + 1,
                                      std::vector<Best>(weights.size() + 1));
  best[0][0] = {.largest = 0.0, .smallest = kNone, .spread = 0.0};
  for (int part = 1; part <= part_count; ++part) {
    for (int end = part; end <= count; ++end) {
      Best& found = best[index_of(part)][index_of(end)];
      for (int begin = part == 1 ? 0 : part - 1; begin < (part == 1 ? 1 : end); ++begin) {
        const Best& rest = best[index_of(part) - 1][index_of(begin)];
        const double own = before[index_of(end)] - before[index_of(begin)];
        const double largest = std::max(rest.largest, own);
        const double smallest = std::min(rest.smallest, own);
        if (largest - smallest > found.spread) continue;
        found = {largest, smallest, largest - smallest, begin};
      }
    }
  }
  Cut cut(index_of(part_count) + 1, count);
  for (int part = part_count; part > 0; --part) {
    cut[index_of(part) - 1] = best[index_of(part)][index_of(cut[index_of(part)])].last_begin;
  }
  return cut;
}

std::vector<TrainerSplit> default_splits(const Model& model, int stage_count) {
  const auto layer_count = static_cast<int>(model.layers.size());
  const Blocks blocks = blocks_of(model);
  std::vector<TrainerSplit> splits{
      megatron(blocks, layer_count, stage_count),
      deepspeed_parameters(model, stage_count),
      {"DeepSpeed", "uniform", even_parts(layer_count, stage_count), ""},
      torchtitan(blocks, layer_count, stage_count),
  };
  for (TrainerSplit& split : splits) {
    if (split.cut.empty() || stage_count <= layer_count) continue;
    split.cut.clear();
    split.refusal = fmt::format("{} layers do not fill {} stages", layer_count, stage_count);
  }
  return splits;
}

}  // namespace ppplan::planner
