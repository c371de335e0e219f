// Published configurations, kept outside the project: counts against transformers', odd files
// against what is expected of them.
#include "profiler/models/counts.h"
#include "profiler/models/load.h"
#include "reports/documents/error.h"
#include "tests/profiler/tiny_configs.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace ppplan::profiler {
namespace {

const std::filesystem::path kShared = std::filesystem::path(PPPLAN_SHARED_ROOT) / "data/hf";

bool have_shared() {
  if (std::filesystem::exists(kShared / "params.tsv")) return true;
  MESSAGE("skipped: ", kShared.string(), " is not there");
  return false;
}

/// Rows of a table with a title line, by first column.
std::map<std::string, std::vector<std::string>> read_table(const std::string& name) {
  std::map<std::string, std::vector<std::string>> rows;
  std::ifstream file(kShared / name);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string key;
    std::getline(cells, key, '\t');
    for (std::string cell; std::getline(cells, cell, '\t');) rows[key].push_back(cell);
  }
  return rows;
}

LoadedModel load_shared(const std::string& name) {
  return load_model(kShared / (name + ".json"), {});
}

/// "model.layers: 32x218112000": the blocks of a model as the table of layers writes them.
std::string layer_stack(const Model& model) {
  const std::string prefix = model.layers.at(1).prefix;
  std::string stack = prefix.substr(0, prefix.size() - std::string(".0.").size()) + ":";
  std::int64_t repeated = 0;
  for (std::size_t layer = 1; layer + 1 < model.layers.size(); ++layer) {
    const auto count = [&](std::size_t at) {
      return parameter_count(model.kinds.at(static_cast<std::size_t>(model.layers.at(at).kind)));
    };
    ++repeated;
    if (layer + 2 == model.layers.size() || count(layer) != count(layer + 1)) {
      stack += fmt::format(" {}x{}", repeated, count(layer));
      repeated = 0;
    }
  }
  return stack;
}

bool is_unsupported(const std::string& name) {
  try {
    load_shared(name);
    return false;
  } catch (const Error& error) {
    const std::string message = error.what();
    return message.find("is not supported; supported are gpt2, llama, mistral, qwen2, qwen3") !=
           std::string::npos;
  }
}

/// The message and hint with which a file is refused, or "accepted: " and its unique parameters and
/// warnings.
std::string outcome(const std::string& name, const LoadOptions& options = {}) {
  try {
    const LoadedModel loaded = load_model(kShared / "odd" / name, options);
    std::string text = fmt::format("accepted: {}", parameter_count(loaded.model));
    for (const std::string& warning : loaded.warnings) text += "\nwarning: " + warning;
    return text;
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::kBadInput);
    return std::string(error.what()) + "\nhint: " + error.hint();
  }
}

void check_outcome(const std::string& name, const std::vector<std::string>& parts) {
  const std::string text = outcome(name);
  CAPTURE(name);
  CAPTURE(text);
  for (const std::string& part : parts) CHECK(text.find(part) != std::string::npos);
}

const std::string kLlama8b = "accepted: 8030261248";

TEST_SUITE("shared") {
  TEST_CASE(
      "published: supported families have exactly transformers' unique parameters and layers") {
    if (!have_shared()) return;
    const auto layers = read_table("layers.tsv");
    int supported_count = 0;
    for (const auto& [name, row] : read_table("params.tsv")) {
      CAPTURE(name);
      if (is_unsupported(name)) continue;
      const Model model = load_shared(name).model;
      CHECK(std::to_string(parameter_count(model)) == row.at(0));
      CHECK(reread(model) == model);
      CHECK(layer_stack(model) == layers.at(name).at(0));
      const LayerCounts counts = count_model(model, {.sequence = 2048});
      CHECK(counts.parameter_count == parameter_count(model));
      CHECK(counts.training_flops_per_token > 0.0);
      ++supported_count;
    }
    CHECK(supported_count == 14);
  }

  TEST_CASE("published: files that must be refused are, with a message that says why") {
    if (!have_shared()) return;
    check_outcome("w02_numbers_as_strings.json", {"num_hidden_layers", "\"32\""});
    check_outcome("w03b_fractional_layers.json", {"num_hidden_layers", "32.5"});
    check_outcome("w06_zero_heads.json", {"num_attention_heads"});
    check_outcome("w07_layer_types_short.json", {"layer_types", "10", "24"});
    check_outcome("w09b_trailing_comma.json", {"w09b_trailing_comma.json:33:22:"});
    check_outcome("w11_huge.json", {"hidden_size"});
    check_outcome("w14_unknown_type_known_arch.json",
                  {"my_llama", "gpt2, llama", "--assume llama"});
    check_outcome("w15_truncated.json", {"byte"});
    check_outcome("w16_not_hf_gaianet.json", {"no model configuration"});
    check_outcome("w18_empty.json", {"w18_empty.json"});
    check_outcome("w19_topk_gt_experts.json", {"num_experts_per_tok", "8", "16"});
    check_outcome("w22_q_lora_rank_absent.json", {"deepseek_v2", "supported are"});
    check_outcome("w22b_q_lora_rank_null.json", {"deepseek_v2", "supported are"});
  }

  TEST_CASE("published: files that are odd but right are accepted") {
    if (!have_shared()) return;
    check_outcome("w01_head_dim_null.json", {kLlama8b});
    check_outcome("w03_float_ints.json", {kLlama8b});
    check_outcome("w04_kv_heads_missing_70b.json",
                  {"accepted: 78371889152", "warning: ", "num_key_value_heads"});
    check_outcome("w08_infinity.json", {kLlama8b});
    check_outcome("w09_bom.json", {kLlama8b});
    check_outcome("w10_duplicate_key.json", {"accepted: 4540469248", "warning: ", "duplicate"});
    check_outcome("w13_llm_config.json", {kLlama8b, "warning: ", "llm_config"});
    const LoadOptions assume_llama{.layer_count = {}, .assume_family = "llama"};
    CHECK(outcome("w14_unknown_type_known_arch.json", assume_llama).starts_with(kLlama8b));
  }
}

}  // namespace
}  // namespace ppplan::profiler
