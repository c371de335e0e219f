#include "profiler/models/load.h"
#include "reports/documents/error.h"
#include "tests/profiler/tiny_configs.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ppplan::profiler {
namespace {

std::vector<std::string> tensor_names(const LayerKind& kind) {
  std::vector<std::string> names;
  for (const Parameter& parameter : kind.parameters) names.push_back(parameter.name);
  return names;
}

const Parameter& tensor(const LayerKind& kind, const std::string& name) {
  for (const Parameter& parameter : kind.parameters) {
    if (parameter.name == name) return parameter;
  }
  FAIL("no tensor " << name);
  return kind.parameters.front();
}

template <typename Op>
std::vector<Op> operators(const LayerKind& kind) {
  std::vector<Op> found;
  for (const Operator& op : kind.program) {
    if (const auto* body = std::get_if<Op>(&op.body)) found.push_back(*body);
  }
  return found;
}

std::vector<std::optional<std::int64_t>> windows(const Model& model) {
  std::vector<std::optional<std::int64_t>> windows;
  for (const Layer& layer : model.layers) {
    for (const auto& attention :
         operators<AttentionOp>(model.kinds[static_cast<std::size_t>(layer.kind)])) {
      windows.push_back(attention.window);
    }
  }
  return windows;
}

const std::string kGrouped = R"("num_key_value_heads": 2)";
using Windows = std::vector<std::optional<std::int64_t>>;

TEST_CASE("llama: tensors carry Hugging Face's names and shapes") {
  const Model model = model_of(tiny_llama_like("llama", kGrouped));
  REQUIRE(model.kinds.size() == 3);
  REQUIRE(model.layers.size() == 4);
  CHECK(parameter_names(model, 0) == std::vector<std::string>{"model.embed_tokens.weight"});
  CHECK(model.layers[2].prefix == "model.layers.1.");
  CHECK(tensor_names(model.kinds[1]) ==
        std::vector<std::string>{
            "input_layernorm.weight", "self_attn.q_proj.weight", "self_attn.k_proj.weight",
            "self_attn.v_proj.weight", "self_attn.o_proj.weight", "post_attention_layernorm.weight",
            "mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"});
  CHECK(tensor(model.kinds[1], "self_attn.k_proj.weight").shape == std::vector<std::int64_t>{4, 8});
  CHECK(tensor(model.kinds[1], "mlp.down_proj.weight").shape == std::vector<std::int64_t>{8, 12});
  CHECK(parameter_names(model, 3) ==
        std::vector<std::string>{"model.norm.weight", "lm_head.weight"});
}

TEST_CASE("llama: parameters are counted by hand") {
  // block: norms 2 * 8, q and o 2 * 8 * 8, k and v 2 * 4 * 8, gate, up and down 3 * 8 * 12
  const Model model = model_of(tiny_llama_like("llama", kGrouped));
  CHECK(parameter_count(model.kinds[1]) == 16 + 128 + 64 + 288);
  CHECK(parameter_count(model) == 80 + 2 * 496 + 8 + 80);
  const Model tied =
      model_of(tiny_llama_like("llama", kGrouped + R"(, "tie_word_embeddings": true)"));
  CHECK(parameter_count(tied) == 80 + 2 * 496 + 8);
  CHECK(parameter_names(tied, 3).back() == "model.embed_tokens.weight");
}

TEST_CASE("llama: biases appear where their keys say") {
  const Model attention =
      model_of(tiny_llama_like("llama", kGrouped + R"(, "attention_bias": true)"));
  CHECK(parameter_count(attention.kinds[1]) == 496 + 8 + 4 + 4 + 8);
  const Model mlp = model_of(tiny_llama_like("llama", kGrouped + R"(, "mlp_bias": true)"));
  CHECK(parameter_count(mlp.kinds[1]) == 496 + 12 + 12 + 8);
  CHECK(tensor(mlp.kinds[1], "mlp.up_proj.bias").init == Init::kZeros);
}

TEST_CASE("llama: without num_key_value_heads every head has its own, with a warning") {
  const LoadedModel absent = load_text(tiny_llama_like("llama"));
  CHECK(parameter_count(absent.model.kinds[1]) == 496 + 64);
  REQUIRE(absent.warnings.size() == 1);
  CHECK(absent.warnings[0].find("num_key_value_heads") != std::string::npos);
  const LoadedModel null = load_text(tiny_llama_like("llama", R"("num_key_value_heads": null)"));
  CHECK(parameter_count(null.model.kinds[1]) == 496 + 64);
  CHECK(null.warnings.empty());
}

TEST_CASE("llama: head_dim given, null and absent") {
  const auto head_size = [](const std::string& extra) {
    const Model model = model_of(tiny_llama_like("llama", kGrouped + extra));
    return operators<AttentionOp>(model.kinds[1]).at(0).head_size;
  };
  CHECK(head_size("") == 2);
  CHECK(head_size(R"(, "head_dim": null)") == 2);
  CHECK(head_size(R"(, "head_dim": 6)") == 6);
}

TEST_CASE("llama: weights start as transformers starts them") {
  const Model model =
      model_of(tiny_llama_like("llama", kGrouped + R"(, "initializer_range": 0.5)"));
  CHECK(tensor(model.kinds[0], "embed_tokens.weight").init_std == 0.5);
  CHECK(tensor(model.kinds[1], "self_attn.o_proj.weight").init_std == 0.5);
  CHECK(tensor(model.kinds[1], "input_layernorm.weight").init == Init::kOnes);
}

TEST_CASE("mistral: 8 key and value heads and a window of 4096 unless said otherwise") {
  const auto mistral = [](const std::string& extra) {
    return model_of(R"({"model_type": "mistral", "num_hidden_layers": 2)" + extra + "}");
  };
  const Model model = mistral("");
  CHECK(operators<AttentionOp>(model.kinds[1]).at(0).kv_head_count == 8);
  CHECK(windows(model) == Windows{4096, 4096});
  CHECK(windows(mistral(R"(, "sliding_window": null)")) == Windows{std::nullopt, std::nullopt});
  CHECK(windows(mistral(R"(, "sliding_window": 7)")) == Windows{7, 7});
}

TEST_CASE("qwen2: query, key and value have biases, the output projection has none") {
  const Model model = model_of(tiny_llama_like("qwen2", kGrouped));
  CHECK(parameter_count(model.kinds[1]) == 496 + 8 + 4 + 4);
}

TEST_CASE("qwen3: each head of queries and keys is normed, heads are 128 wide by default") {
  const Model model = model_of(tiny_llama_like("qwen3", kGrouped + R"(, "head_dim": 6)"));
  const std::vector<RmsNormOp> norms = operators<RmsNormOp>(model.kinds[1]);
  REQUIRE(norms.size() == 4);
  CHECK(norms[1].width == 6);
  // q 24 * 8, k and v 12 * 8, o 8 * 24
  CHECK(parameter_count(model.kinds[1]) == 16 + 192 + 192 + 192 + 288 + 2 * 6);
  const Model usual = model_of(tiny_llama_like("qwen3", kGrouped));
  CHECK(operators<AttentionOp>(usual.kinds[1]).at(0).head_size == 128);
}

TEST_CASE("qwen2: which layers slide") {
  const auto with = [](const std::string& extra) {
    return windows(model_of(tiny_llama_like("qwen2", kGrouped + extra)));
  };
  const Windows none{std::nullopt, std::nullopt};
  CHECK(with(R"(, "sliding_window": 4)") == none);
  CHECK(with(R"(, "use_sliding_window": true, "sliding_window": 4)") == none);
  CHECK(with(R"(, "use_sliding_window": true, "sliding_window": 4, "max_window_layers": 1)") ==
        Windows{std::nullopt, 4});
  CHECK(with(R"(, "use_sliding_window": true, "max_window_layers": 0)") == Windows{4096, 4096});
  CHECK(with(R"(, "use_sliding_window": true, "sliding_window": 3,
                "layer_types": ["sliding_attention", "full_attention"])") ==
        Windows{3, std::nullopt});
  CHECK_THROWS_WITH_AS(with(R"(, "layer_types": ["sliding_attention", "full_attention"])"),
                       doctest::Contains("no window is set"), Error);
  CHECK_THROWS_WITH_AS(with(R"(, "layer_types": ["linear_attention", "full_attention"])"),
                       doctest::Contains("linear_attention"), Error);
}

TEST_CASE("rope: old and new spellings mean the same") {
  const auto rope = [](const std::string& extra) {
    return operators<RopeOp>(model_of(tiny_llama_like("llama", kGrouped + extra)).kinds[1]).at(0);
  };
  CHECK(rope("").theta == 10000.0);
  CHECK(rope("").scaling == RopeScaling{});
  CHECK(rope(R"(, "rope_theta": 5e5, "rope_scaling": null)").theta == 5e5);
  CHECK(rope(R"(, "rope_theta": 1, "rope_parameters": {"rope_theta": 7.0, "rope_type": "default"})")
            .theta == 7.0);
  const RopeScaling linear = rope(R"(, "rope_scaling": {"type": "linear", "factor": 4})").scaling;
  CHECK(linear.type == "linear");
  CHECK(linear.factor == 4.0);
  const std::string llama3 =
      R"("rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4)";
  CHECK(rope(R"(, "rope_scaling": {)" + llama3 + "}").scaling.original_positions == 16);
  CHECK(rope(R"(, "rope_parameters": {"original_max_position_embeddings": 5, )" + llama3 + "}")
            .scaling.original_positions == 5);
  CHECK(rope(R"(, "rope_scaling": {"rope_type": "yarn", "factor": 2})").scaling.type == "yarn");
}

TEST_CASE("gpt2: tensors carry Hugging Face's names, matrices are stored [in, out]") {
  const Model model = model_of(tiny_gpt2());
  CHECK(parameter_names(model, 0) ==
        std::vector<std::string>{"transformer.wte.weight", "transformer.wpe.weight"});
  CHECK(model.layers[2].prefix == "transformer.h.1.");
  CHECK(tensor_names(model.kinds[1]) ==
        std::vector<std::string>{"ln_1.weight", "ln_1.bias", "attn.c_attn.weight",
                                 "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias",
                                 "ln_2.weight", "ln_2.bias", "mlp.c_fc.weight", "mlp.c_fc.bias",
                                 "mlp.c_proj.weight", "mlp.c_proj.bias"});
  CHECK(tensor(model.kinds[1], "attn.c_attn.weight").shape == std::vector<std::int64_t>{6, 18});
  CHECK(operators<LinearOp>(model.kinds[1]).at(0).layout == WeightLayout::kInOut);
  CHECK(parameter_names(model, 3) == std::vector<std::string>{"transformer.ln_f.weight",
                                                              "transformer.ln_f.bias",
                                                              "transformer.wte.weight"});
}

TEST_CASE("gpt2: parameters are counted by hand") {
  // block: norms 4 * 6, c_attn 6 * 18 + 18, c_proj 6 * 6 + 6, c_fc 6 * 24 + 24, c_proj 24 * 6 + 6
  const Model model = model_of(tiny_gpt2());
  CHECK(parameter_count(model.kinds[1]) == 24 + 126 + 42 + 168 + 150);
  CHECK(parameter_count(model) == 60 + 30 + 2 * 510 + 12);
  CHECK(parameter_count(model_of(tiny_gpt2(R"("tie_word_embeddings": false)"))) == 1122 + 60);
  CHECK(parameter_count(model_of(tiny_gpt2(R"("n_inner": null)"))) == 1122);
  CHECK(parameter_count(model_of(tiny_gpt2(R"("n_inner": 10)")).kinds[1]) == 192 + 70 + 66);
}

TEST_CASE("gpt2: projections that end a residual path start smaller, also in a cut model") {
  const LoadedModel cut = load_text(tiny_gpt2(), {.layer_count = 1, .assume_family = {}});
  CHECK(tensor(cut.model.kinds[1], "attn.c_proj.weight").init_std ==
        doctest::Approx(0.02 / std::sqrt(4.0)));
  CHECK(tensor(cut.model.kinds[1], "attn.c_attn.weight").init_std == 0.02);
}

TEST_CASE("gpt2: the general spellings are read too, and win") {
  const Model model = model_of(tiny_gpt2(R"("num_hidden_layers": 3, "hidden_size": 4)"));
  CHECK(model.layers.size() == 5);
  CHECK(model.hidden == 4);
}

TEST_CASE("gpt2: dropout is left out, with a warning") {
  const LoadedModel loaded = load_text(R"({"model_type": "gpt2"})");
  REQUIRE(loaded.warnings.size() == 1);
  CHECK(loaded.warnings[0].find("resid_pdrop, embd_pdrop, attn_pdrop") != std::string::npos);
  CHECK(load_text(tiny_gpt2()).warnings.empty());
}

TEST_CASE("families: what is described is well formed and survives its document") {
  const std::string options = R"("num_key_value_heads": 2, "attention_bias": true,
      "mlp_bias": true, "tie_word_embeddings": true, "rope_scaling": {"rope_type": "llama3",
      "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}, "use_sliding_window": true,
      "max_window_layers": 1)";
  for (const std::string family : {"llama", "mistral", "qwen2", "qwen3"}) {
    CAPTURE(family);
    const Model model = model_of(tiny_llama_like(family, options));
    CHECK(reread(model) == model);
  }
  const Model gpt2 = model_of(tiny_gpt2());
  CHECK(reread(gpt2) == gpt2);
}

TEST_CASE("activations: aliases share a function") {
  const auto activation = [](const std::string& word) {
    const Model model = model_of(tiny_gpt2(R"("activation_function": ")" + word + "\""));
    return operators<ActivationOp>(model.kinds[1]).at(0).activation;
  };
  CHECK(activation("gelu") == Activation::kGelu);
  CHECK(activation("gelu_new") == Activation::kGeluTanh);
  CHECK(activation("gelu_pytorch_tanh") == Activation::kGeluTanh);
  CHECK(activation("relu") == Activation::kRelu);
  CHECK(activation("swish") == Activation::kSilu);
  CHECK_THROWS_WITH_AS(activation("quick_gelu"), doctest::Contains("quick_gelu"), Error);
}

TEST_CASE("families: shapes that contradict each other are refused by name") {
  const auto refused = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(load_text(text), doctest::Contains(part.c_str()), Error);
  };
  refused(R"({"model_type": "llama", "hidden_size": 10, "num_attention_heads": 4})", "hidden_size");
  refused(tiny_llama_like("llama", R"("num_key_value_heads": 3)"), "num_key_value_heads");
  refused(tiny_llama_like("llama", R"("num_key_value_heads": 0)"), "num_key_value_heads");
  refused(tiny_llama_like("llama", R"("head_dim": 3)"), "head_dim");
  refused(tiny_llama_like("qwen3", R"("num_key_value_heads": 2, "head_dim": null)"), "head_dim");
  refused(tiny_llama_like("llama", R"("rope_parameters": {"partial_rotary_factor": 0.5})"),
          "partial_rotary_factor");
  refused(tiny_llama_like("llama", R"("rope_scaling": {"type": "linear"})"), "factor");
  refused(tiny_llama_like("llama", R"("rope_parameters": {"full_attention": {}})"),
          "full_attention");
  refused(tiny_gpt2(R"("scale_attn_by_inverse_layer_idx": true)"),
          "scale_attn_by_inverse_layer_idx");
  refused(R"({"model_type": "gpt2", "n_embd": 6, "n_head": 4})", "n_embd");
}

}  // namespace
}  // namespace ppplan::profiler
