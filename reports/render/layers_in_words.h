// Names runs of a model's layers for people.
#pragma once

#include "reports/documents/model.h"

#include <cstdint>
#include <string>

namespace ppplan::render {

/// "embedding, blocks 0-13", "block 29, head", "none: passes tensors on" for no layer. Blocks are
/// counted from 0 through the whole model; other layers go by their kind's name. With an en dash.
/// Precondition: the run lies within the model. O(layers).
std::string layers_in_words(const Model& model, int first_layer, int layer_count);

/// Elements of the distinct tensors of a run of layers: one shared within it counts once.
/// O(parameters of the run).
std::int64_t parameter_count(const Model& model, int first_layer, int layer_count);

}  // namespace ppplan::render
