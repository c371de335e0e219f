#include "profiler/models/counts.h"

#include "profiler/models/load.h"
#include "reports/documents/error.h"
#include "tests/profiler/tiny_configs.h"

#include <doctest/doctest.h>

#include <string>

namespace ppplan::profiler {
namespace {

const std::string kTiny = tiny_llama_like("llama", R"("num_key_value_heads": 2)");
const std::string kTied =
    tiny_llama_like("llama", R"("num_key_value_heads": 2, "tie_word_embeddings": true)");

TEST_CASE("counts: bytes of parameters, gradients and AdamW follow the precision") {
  const Model model = model_of(kTiny);
  const LayerCounts plain = count_kind(model, 1, {.sequence = 4});
  CHECK(plain.parameters == Bytes{496 * 4});
  CHECK(plain.gradients == Bytes{496 * 4});
  CHECK(plain.optimizer == Bytes{496 * 8});
  const LayerCounts mixed = count_kind(model, 1, {.sequence = 4, .precision = kMixedBfloat16});
  CHECK(mixed.parameters == Bytes{496 * 2});
  CHECK(mixed.optimizer == Bytes{496 * 12});
}

TEST_CASE(
    "counts: training FLOPs are three forwards, attention counts what its mask lets through") {
  const Model model = model_of(kTiny);
  const double matrices = 2.0 * (64 + 32 + 32 + 64 + 288);
  // 4 tokens see 1, 2, 3 and 4 positions: 2.5 on average; 2 products of 8 features
  CHECK(count_kind(model, 1, {.sequence = 4}).training_flops_per_token ==
        3.0 * (matrices + 4.0 * 8.0 * 2.5));
  CHECK(count_kind(model, 1, {.sequence = 1}).training_flops_per_token ==
        3.0 * (matrices + 4.0 * 8.0));
  CHECK(count_kind(model, 0, {.sequence = 4}).training_flops_per_token == 0.0);
  CHECK(count_kind(model, 2, {.sequence = 4}).training_flops_per_token == 3.0 * 2.0 * 8.0 * 10.0);
}

TEST_CASE("counts: a sliding window bounds what attention costs") {
  const auto attention = [](const std::string& window, std::int64_t sequence) {
    const Model model = model_of(
        tiny_llama_like("mistral", R"("num_key_value_heads": 2, "sliding_window": )" + window));
    const double all = count_kind(model, 1, {.sequence = sequence}).training_flops_per_token;
    return (all / 3.0 - 960.0) / (4.0 * 8.0);
  };
  CHECK(attention("2", 4) == doctest::Approx((1.0 + 2.0 + 2.0 + 2.0) / 4.0));
  CHECK(attention("9", 4) == doctest::Approx(2.5));
  CHECK(attention("null", 4) == doctest::Approx(2.5));
}

TEST_CASE("counts: a Llama block keeps what its operators' backward needs, each value once") {
  const Model model = model_of(kTiny);
  // x, h, q, k, v, attention, x, h, gate, up, product; 2 norms; 4 heads
  const std::int64_t elements = 8 + 8 + 8 + 4 + 4 + 8 + 8 + 8 + 12 + 12 + 12;
  CHECK(count_kind(model, 1, {.sequence = 4}).activations_per_token ==
        Bytes{4 * elements + 2 * 4 + 4 * 4});
  // tokens; then x, normed x, probabilities, one statistic
  CHECK(count_kind(model, 0, {.sequence = 4}).activations_per_token == Bytes{8});
  CHECK(count_kind(model, 2, {.sequence = 4}).activations_per_token == Bytes{4 * (8 + 8 + 10) + 4});
}

TEST_CASE("counts: a GPT block keeps Korthikanti's 34 bytes a feature less two dropout masks") {
  const Model model = model_of(tiny_gpt2());
  const std::int64_t statistics = 2 * 2 * 4 + 2 * 4;  // two LayerNorms, two heads
  CHECK(count_kind(model, 1, {.sequence = 4, .precision = kMixedBfloat16}).activations_per_token ==
        Bytes{(34 - 2) * 6 + statistics});
}

TEST_CASE("counts: layers sum to the model, a tied tensor once") {
  const Model model = model_of(kTied);
  const CountOptions options{.sequence = 4};
  const LayerCounts total = count_model(model, options);
  CHECK(total.parameter_count == 1080);
  CHECK(count_layer(model, 3, options).parameter_count == 8);
  CHECK(count_kind(model, 2, options).parameter_count == 88);
  LayerCounts sum;
  for (int layer = 0; layer < 4; ++layer) {
    const LayerCounts counts = count_layer(model, layer, options);
    sum.parameter_count += counts.parameter_count;
    sum.training_flops_per_token += counts.training_flops_per_token;
    sum.optimizer += counts.optimizer;
    sum.activations_per_token += counts.activations_per_token;
  }
  CHECK(sum.parameter_count == total.parameter_count);
  CHECK(sum.training_flops_per_token == total.training_flops_per_token);
  CHECK(sum.optimizer == total.optimizer);
  CHECK(sum.activations_per_token == total.activations_per_token);
}

TEST_CASE("counts: bytes beyond 63 bits are an error, never negative") {
  const Model model = model_of(R"({"model_type": "llama", "vocab_size": 2000000000,
      "hidden_size": 1000000000, "intermediate_size": 1, "num_hidden_layers": 1,
      "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 2})");
  CHECK_THROWS_AS(count_model(model, {.sequence = 4}), Error);
}

TEST_CASE("counts: learned positions bound the sample, rotary ones do not") {
  CHECK_THROWS_WITH_AS(check_sequence(model_of(tiny_gpt2()), 6),
                       doctest::Contains("at most the 5 positions"), Error);
  CHECK_NOTHROW(check_sequence(model_of(tiny_gpt2()), 5));
  CHECK_NOTHROW(check_sequence(model_of(kTiny), 17));
}

}  // namespace
}  // namespace ppplan::profiler
