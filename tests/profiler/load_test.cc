#include "profiler/models/load.h"

#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "tests/profiler/tiny_configs.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace ppplan::profiler {
namespace {

const std::filesystem::path kConfigs =
    std::filesystem::path(PPPLAN_TEST_ROOT).parent_path() / "profiler/models/configs";

void refused(const std::string& text, const std::string& part, const LoadOptions& options = {}) {
  CAPTURE(text);
  CHECK_THROWS_WITH_AS(load_text(text, options), doctest::Contains(part.c_str()), Error);
}

TEST_CASE("load: the bundled configurations have the published numbers of parameters") {
  CHECK(parameter_count(load_model(kConfigs / "smollm2-135m", {}).model) == 134'515'008);
  CHECK(parameter_count(load_model(kConfigs / "gpt2/config.json", {}).model) == 124'439'808);
}

TEST_CASE("load: a model is named after its folder, or its file when that is not config.json") {
  CHECK(load_model(kConfigs / "gpt2", {}).model.name == "gpt2");
  CHECK(load_model(kConfigs / "gpt2/config.json", {}).model.name == "gpt2");
  CHECK(load_model(kConfigs / "gpt2/../smollm2-135m/", {}).model.name == "smollm2-135m");
}

TEST_CASE("load: the sum is that of the file's bytes") {
  CHECK(load_model(kConfigs / "gpt2", {}).sha256 ==
        sha256(read_file(kConfigs / "gpt2/config.json")));
}

TEST_CASE("load: a folder without config.json is told") {
  CHECK_THROWS_WITH_AS(load_model(kConfigs, {}), doctest::Contains("config.json"), Error);
}

TEST_CASE("load: a cut keeps the first blocks and only the kinds they use") {
  const std::string text = tiny_llama_like(
      "qwen2", R"("num_key_value_heads": 2, "use_sliding_window": true, "max_window_layers": 1)");
  CHECK(load_text(text).model.kinds.size() == 4);
  const Model cut = load_text(text, {.layer_count = 1, .assume_family = {}}).model;
  REQUIRE(cut.layers.size() == 3);
  REQUIRE(cut.kinds.size() == 3);
  CHECK(cut.kinds[static_cast<std::size_t>(cut.layers[2].kind)].name == "head");
  CHECK(parameter_names(cut, 1).front() == "model.layers.0.input_layernorm.weight");
  refused(text, "--layers: expected 1 to 2", {.layer_count = 3, .assume_family = {}});
  refused(text, "--layers: expected 1 to 2", {.layer_count = 0, .assume_family = {}});
}

TEST_CASE("load: a family that is not supported is named beside those that are") {
  refused(R"({"model_type": "rwkv"})", "family rwkv is not supported; supported are gpt2, llama");
  try {
    load_text(R"({"model_type": "my_llama", "architectures": ["LlamaForCausalLM"]})");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::kBadInput);
    CHECK(error.hint().find("--assume llama") != std::string::npos);
  }
}

TEST_CASE("load: a family may be assumed") {
  const std::string text = tiny_llama_like("my_llama", R"("num_key_value_heads": 2)");
  const Model model = load_text(text, {.layer_count = {}, .assume_family = "llama"}).model;
  CHECK(model.family == "llama");
  CHECK(parameter_count(model) == 1160);
  refused(text, "--assume: expected one of gpt2", {.layer_count = {}, .assume_family = "lama"});
}

TEST_CASE("load: the language model of a larger one is found, with a warning") {
  for (const std::string key : {"text_config", "llm_config", "language_config"}) {
    const std::string inner = tiny_llama_like("llama", R"("num_key_value_heads": 2)");
    const LoadedModel loaded = load_text(R"({"model_type": "sees", ")" + key + R"(": )" + inner +
                                         R"(, "vision_config": {}})");
    CHECK(parameter_count(loaded.model) == 1160);
    REQUIRE(loaded.warnings.size() == 1);
    CHECK(loaded.warnings[0].find(key) != std::string::npos);
  }
  refused(R"({"model_type": "sees", "text_config": {"model_type": "rwkv"}})", "family rwkv");
}

TEST_CASE("load: what is no model configuration is told so") {
  refused(R"({"address": "", "prompt_template": "x"})", "no model configuration");
  refused("[]", "config.json:1:1");
  refused("", "config.json");
  refused(R"({"architectures": ["GPT2LMHeadModel"]})", "model_type");
}

TEST_CASE("load: contradictions are told before the family is") {
  refused(R"({"model_type": "moe", "num_hidden_layers": 4, "layer_types": ["full_attention"]})",
          "expected one entry for each of 4 layers, found 1");
  refused(R"({"model_type": "moe", "num_experts_per_tok": 9, "num_local_experts": 8})",
          "expected at most the 8 experts of num_local_experts, found 9");
}

TEST_CASE("load: sizes beyond counting are an error, never a negative count") {
  refused(R"({"model_type": "llama", "hidden_size": 1000000000000000000})", "hidden_size");
  refused(R"({"model_type": "mistral", "head_dim": 2147483647})", "head_dim");
  refused(R"({"model_type": "gpt2", "n_embd": 1000000000})", "n_embd");
  refused(R"({"model_type": "gpt2", "vocab_size": 2000000000, "n_embd": 500000000,
             "n_head": 1, "n_inner": 2000000000})",
          "");
  refused(R"({"model_type": "llama", "num_hidden_layers": 1000000000})", "num_hidden_layers");
}

TEST_CASE("load: another architecture than the family's is read as it, with a warning") {
  const LoadedModel loaded =
      load_text(tiny_gpt2(R"("architectures": ["GPT2ForTokenClassification"])"));
  REQUIRE(loaded.warnings.size() == 1);
  CHECK(loaded.warnings[0].find("read as GPT2LMHeadModel") != std::string::npos);
}

}  // namespace
}  // namespace ppplan::profiler
