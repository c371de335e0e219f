// Runs a model once on given tokens and writes all it computed, for comparison with other
// frameworks.
#pragma once

#include "reports/documents/model.h"

#include <filesystem>

namespace ppplan::executor {

/// Reads tokens (one sample a line, ids separated by blanks, lines equally long; labels are the
/// tokens one place on, the last place has none) and writes "loss" (mean), "logits" [B,S,V] and
/// "grad.<global name>" of our own operators to `out` as safetensors. Throws Error.
void check_model(const Model& model, const std::filesystem::path& weights,
                 const std::filesystem::path& tokens, const std::filesystem::path& out);

}  // namespace ppplan::executor
