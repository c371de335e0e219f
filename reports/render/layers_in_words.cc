#include "reports/render/layers_in_words.h"

#include <fmt/format.h>

#include <cstddef>
#include <set>
#include <vector>

namespace ppplan::render {
namespace {

const LayerKind& kind_of(const Model& model, const Layer& layer) {
  return model.kinds[static_cast<std::size_t>(layer.kind)];
}

std::string blocks_in_words(int first, int last) {
  if (first == last) return fmt::format("block {}", first);
  return fmt::format("blocks {}–{}", first, last);
}

}  // namespace

std::string layers_in_words(const Model& model, int first_layer, int layer_count) {
  if (layer_count == 0) return "none: passes tensors on";
  std::string words;
  const auto add = [&](const std::string& word) { words += (words.empty() ? "" : ", ") + word; };
  int block = 0;
  int first_block = -1;
  for (int index = 0; index < first_layer + layer_count; ++index) {
    const LayerKind& kind = kind_of(model, model.layers[static_cast<std::size_t>(index)]);
    const bool inside = index >= first_layer;
    if (kind.role == LayerRole::kBlock) {
      if (inside && first_block < 0) first_block = block;
      ++block;
      continue;
    }
    if (first_block >= 0) add(blocks_in_words(first_block, block - 1));
    first_block = -1;
    if (inside) add(kind.name);
  }
  if (first_block >= 0) add(blocks_in_words(first_block, block - 1));
  return words;
}

std::int64_t parameter_count(const Model& model, int first_layer, int layer_count) {
  std::set<std::string> seen;
  std::int64_t count = 0;
  for (int index = first_layer; index < first_layer + layer_count; ++index) {
    const Layer& layer = model.layers[static_cast<std::size_t>(index)];
    const std::vector<std::string> names = parameter_names(model, index);
    for (std::size_t at = 0; at < names.size(); ++at) {
      if (!seen.insert(names[at]).second) continue;
      std::int64_t elements = 1;
      for (const std::int64_t extent : kind_of(model, layer).parameters[at].shape) {
        elements *= extent;
      }
      count += elements;
    }
  }
  return count;
}

}  // namespace ppplan::render
