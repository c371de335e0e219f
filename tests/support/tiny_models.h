// Small models of every supported kind of layer, for tests that compute.
#pragma once

#include "profiler/models/load.h"
#include "reports/documents/model.h"

#include <string>
#include <vector>

namespace ppplan::tests {

/// Configurations by name: grouped-query heads, tied and untied heads, biases, QK-norm, a sliding
/// window shorter than the tests' sequences, stretched rotary frequencies, GPT-2.
inline const std::vector<std::pair<std::string, std::string>>& tiny_configs() {
  static const std::vector<std::pair<std::string, std::string>> configs{
      {"llama-tied", R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
        "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 260, "max_position_embeddings": 64,
        "tie_word_embeddings": true, "rms_norm_eps": 1e-5, "initializer_range": 0.2})"},
      {"llama-3-rope", R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
        "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 4, "head_dim": 16, "vocab_size": 260, "max_position_embeddings": 64,
        "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
        "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16},
        "tie_word_embeddings": false, "attention_bias": true, "mlp_bias": true,
        "initializer_range": 0.2})"},
      {"qwen2", R"({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"],
        "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 1, "vocab_size": 260, "max_position_embeddings": 64,
        "tie_word_embeddings": true, "initializer_range": 0.2})"},
      {"qwen3", R"({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"],
        "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 12, "vocab_size": 260, "max_position_embeddings": 64,
        "tie_word_embeddings": false, "initializer_range": 0.2})"},
      {"mistral-window", R"({"model_type": "mistral", "architectures": ["MistralForCausalLM"],
        "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 260, "max_position_embeddings": 64,
        "sliding_window": 5, "tie_word_embeddings": false, "initializer_range": 0.2})"},
      {"gpt2", R"({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 32,
        "n_layer": 4, "n_head": 4, "n_positions": 64, "vocab_size": 260, "initializer_range": 0.2})"},
  };
  return configs;
}

inline Model tiny_model(const std::string& name) {
  for (const auto& [own_name, text] : tiny_configs()) {
    if (own_name == name) return profiler::read_model_config(text, name, name, {}).model;
  }
  return {};
}

}  // namespace ppplan::tests
