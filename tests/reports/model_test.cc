#include "reports/documents/model.h"

#include "tests/support/errors.h"

#include <doctest/doctest.h>

#include <string>

namespace {

using ppplan::Fields;
using ppplan::Model;
using ppplan::parse_yaml;
using ppplan::read_model;
using ppplan::test::hint_of;
using ppplan::test::message_of;

constexpr const char* kModel = R"(name: tiny
family: llama
hidden: 8
vocabulary: 10
max_sequence: 16
kinds:
  - name: embedding
    role: embedding
    parameters:
      - {name: embed.weight, shape: [10, 8], init: normal, init_std: 0.02}
    program:
      - {op: embedding, in: [tokens], out: [x], weight: embed.weight}
  - name: block
    role: block
    parameters:
      - {name: norm.weight, shape: [8], init: ones}
      - {name: up.weight, shape: [12, 8], init: normal, init_std: 0.02}
      - {name: down.weight, shape: [8, 12], init: normal, init_std: 0.02}
    program:
      - {op: rms_norm, in: [x], out: [h], weight: norm.weight, width: 8, epsilon: 1.0e-05}
      - {op: linear, in: [h], out: [h], weight: up.weight, in_features: 8, out_features: 12}
      - {op: activation, in: [h], out: [h], activation: silu}
      - {op: linear, in: [h], out: [h], weight: down.weight, in_features: 12, out_features: 8}
      - {op: add, in: [x, h], out: [x]}
  - name: head
    role: head
    parameters:
      - {name: lm_head.weight, shape: [10, 8], init: normal, init_std: 0.02}
    program:
      - {op: linear_cross_entropy, in: [x, labels], out: [loss], weight: lm_head.weight, in_features: 8, vocabulary: 10}
layers:
  - {kind: embedding, prefix: model.}
  - {kind: block, prefix: model.layers.0.}
  - {kind: block, prefix: model.layers.1.}
  - {kind: head, prefix: "", tied: [{name: lm_head.weight, owner: model.embed.weight}]}
)";

Model read(const std::string& text) {
  const auto file = parse_yaml(text, "m");
  return read_model(Fields(file, file.root));
}

/// The model's text with the first `from` replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kModel;
  const std::size_t place = text.find(from);
  REQUIRE(place != std::string::npos);
  return text.replace(place, from.size(), to);
}

std::string refusal(const std::string& from, const std::string& to) {
  return message_of([&] { read(changed(from, to)); });
}

TEST_CASE("model: a tied parameter has its owner's name and counts once") {
  const Model model = read(kModel);
  CHECK(parameter_names(model, 2) == std::vector<std::string>{"model.layers.1.norm.weight",
                                                              "model.layers.1.up.weight",
                                                              "model.layers.1.down.weight"});
  CHECK(parameter_names(model, 3) == std::vector<std::string>{"model.embed.weight"});
  CHECK(parameter_count(model.kinds[1]) == 8 + 96 + 96);
  CHECK(parameter_count(model) == 80 + 2 * 200);
  CHECK(parameter_count(read(
            changed(", tied: [{name: lm_head.weight, owner: model.embed.weight}]", ""))) == 560);
}

TEST_CASE("model: it is written as a person would") {
  CHECK(write_model(read(kModel), 0) == kModel);
}

TEST_CASE("model: a count beyond 2^62 is refused") {
  CHECK(
      refusal("shape: [12, 8]", "shape: [2000000000, 2000000000, 2000000000]").find("up.weight") !=
      std::string::npos);
  ppplan::LayerKind huge;
  huge.parameters = {
      {"a", {std::int64_t{1} << 31, std::int64_t{1} << 31, 2}, ppplan::Init::kZeros, 0.0}};
  CHECK(message_of([&] { (void)parameter_count(huge); }).find("2^62") != std::string::npos);
}

TEST_CASE("model: programs that cannot run are refused with their place") {
  CHECK(refusal("in: [x, h]", "in: [x, g]") ==
        "m:24:23: kinds[1].program[4].in: expected a value assigned before, found g");
  CHECK(refusal("in: [x, h]", "in: [x]") ==
        "m:24:23: kinds[1].program[4].in: expected 2 values, found 1");
  CHECK(
      refusal("out_features: 12", "out_features: 13") ==
      "m:21:49: kinds[1].program[1].weight: expected up.weight with shape [13, 8], found [12, 8]");
  CHECK(refusal("weight: up.weight, in_features: 8", "weight: pu.weight, in_features: 8")
            .find("expected a parameter of block, found pu.weight") != std::string::npos);
  CHECK(refusal("in_features: 12, out_features: 8", "in_features: 8, out_features: 8")
            .find("expected 8 features in h, found 12 features") != std::string::npos);
  CHECK(refusal("width: 8", "width: 3").find("expected a divisor of 8, found 3") !=
        std::string::npos);
  CHECK(refusal("in: [x, h], out: [x]", "in: [x, h], out: [y]")
            .find("expected a step that assigns x, found none") != std::string::npos);
  CHECK(refusal("in: [x, h], out: [x]", "in: [x, h], out: [x, y]")
            .find("expected 1 names, found 2") != std::string::npos);
  CHECK(refusal("in: [x, labels]", "in: [labels, x]")
            .find("expected 8 features in labels, found labels") != std::string::npos);
  CHECK(refusal(
            "{op: add, in: [x, h], out: [x]}",
            "{op: linear, in: [h], out: [x], weight: up.weight, in_features: 8, out_features: 12}")
            .find("expected 12 features in x at the end") == std::string::npos);
  CHECK(refusal("shape: [10, 8], init", "shape: [9, 8], init")
            .find("at least 10 rows (vocabulary)") != std::string::npos);
  CHECK(refusal("op: linear,", "op: lineal,").find("expected one of embedding,") !=
        std::string::npos);
  CHECK(hint_of([] { read(changed("op: linear,", "op: lineal,")); }) == "did you mean linear?");
  CHECK(refusal("width: 8", "width: 8, gain: 1")
            .find("kinds[1].program[0].gain: expected a known key") != std::string::npos);
}

TEST_CASE("model: a divisor of zero is refused, not divided by") {
  CHECK(
      refusal(
          "{op: add, in: [x, h], out: [x]}",
          "{op: attention, in: [x, x, x], out: [x], head_count: 8, kv_head_count: 0, head_size: 1}")
          .find("kv_head_count: expected a whole number from 1") != std::string::npos);
}

TEST_CASE("model: layers out of order, unknown kinds and bad ties are refused") {
  CHECK(refusal("  - {kind: embedding, prefix: model.}\n", "")
            .find("layers[0].kind: expected a kind of role embedding here, found block of role "
                  "block") != std::string::npos);
  CHECK(refusal("kind: block, prefix: model.layers.1.", "kind: head, prefix: model.layers.1.")
            .find("expected a kind of role block here") != std::string::npos);
  CHECK(refusal("kind: block,", "kind: blok,")
            .find("expected one of embedding, block, head, found blok") != std::string::npos);
  CHECK(refusal("layers.1.", "layers.0.")
            .find("layers[2].prefix: expected names of its own, found model.layers.0.") !=
        std::string::npos);
  CHECK(refusal("owner: model.embed.weight", "owner: embed.weight")
            .find("layers[3].tied[0].owner: expected a tensor of an earlier layer, found "
                  "embed.weight") != std::string::npos);
  CHECK(refusal("owner: model.embed.weight", "owner: model.layers.0.up.weight")
            .find("expected a tensor of shape [10, 8], found [12, 8]") != std::string::npos);
  CHECK(refusal("tied: [{name: lm_head", "tied: [{name: head")
            .find("layers[3].tied[0].name: expected a parameter of head, once") !=
        std::string::npos);
  CHECK(refusal("kinds:\n",
                "kinds:\n  - {name: block, role: block, parameters: [], program: [{op: add, in: "
                "[x, x], out: [x]}]}\n")
            .find("expected each name once, found block again") != std::string::npos);
}

}  // namespace
