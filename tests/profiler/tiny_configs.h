// Small configurations whose counts a person can check by hand.
#pragma once

#include "profiler/models/load.h"
#include "reports/documents/model.h"
#include "reports/documents/node.h"

#include <string>

namespace ppplan::profiler {

/// A Llama-like configuration with 2 layers of hidden 8, 4 heads, feed-forward 12, vocabulary 10
/// and 16 positions; `extra` is further JSON members, for instance `"mlp_bias": true`.
inline std::string tiny_llama_like(const std::string& model_type, const std::string& extra = {}) {
  return R"({"model_type": ")" + model_type +
         R"(", "vocab_size": 10, "hidden_size": 8, "intermediate_size": 12,
 "num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 16)" +
         (extra.empty() ? "" : ",\n " + extra) + "}";
}

/// A GPT-2 configuration with 2 layers of hidden 6, 2 heads, vocabulary 10 and 5 positions.
inline std::string tiny_gpt2(const std::string& extra = {}) {
  return R"({"model_type": "gpt2", "vocab_size": 10, "n_embd": 6, "n_layer": 2, "n_head": 2,
 "n_positions": 5, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0)" +
         (extra.empty() ? "" : ",\n " + extra) + "}";
}

inline LoadedModel load_text(const std::string& text, const LoadOptions& options = {}) {
  return read_model_config(text, "config.json", "tiny", options);
}

inline Model model_of(const std::string& text) {
  return load_text(text).model;
}

/// What a document keeps of a model: written, read and checked again.
inline Model reread(const Model& model) {
  const ParsedFile file = parse_yaml("model:\n" + write_model(model, 2), "model.yaml");
  return read_model(Fields(file, file.root).map("model"));
}

}  // namespace ppplan::profiler
