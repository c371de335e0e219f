#include "profiler/models/rope.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

// Follows RotaryEmbeddingConfigMixin of transformers' modeling_rope_utils.py.

namespace ppplan::profiler {
namespace {

constexpr double kDefaultTheta = 10'000.0;
constexpr NumberRange kThetaRange{1e-6, 1e300};
constexpr NumberRange kFactorRange{1e-6, 1e9};

void refuse_partial_rotation(const Fields& fields) {
  constexpr std::string_view kKey = "partial_rotary_factor";
  const double share = fields.has(kKey) ? fields.number(kKey, {0.0, 1.0}) : 1.0;
  if (share == 1.0) return;
  fields.fail(kKey, fmt::format("expected 1, found {}", share),
              "this family's heads are rotated whole");
}

/// The mapping that describes the rotation: a non-empty `rope_scaling` wins, as in transformers.
std::optional<Fields> rope_mapping(const Fields& fields) {
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    if (!fields.has(key)) continue;
    Fields mapping = fields.map(key);
    if (!mapping.keys().empty()) return mapping;
  }
  return std::nullopt;
}

void refuse_nesting(const Fields& mapping) {
  for (const std::string& key : mapping.keys()) {
    if (mapping.node(key).kind == Node::Kind::kMapping) {
      mapping.fail(key, "expected a number or a word, found a mapping",
                   "rotary parameters that differ by layer type are not supported in this family");
    }
  }
}

std::string rope_type(const Fields& mapping) {
  // transformers' words; the executor runs the first three.
  static const std::vector<std::string> known{"default", "linear", "llama3",
                                              "dynamic", "yarn",   "longrope"};
  for (const std::string_view key : {"rope_type", "type"}) {
    if (mapping.mentions(key)) return known[mapping.word(key, known)];
  }
  return "default";
}

RopeScaling read_scaling(const Fields& fields, const Fields& mapping, std::int64_t max_sequence) {
  RopeScaling scaling;
  scaling.type = rope_type(mapping);
  if (scaling.type == "default") return scaling;
  const bool needs_factor = scaling.type == "linear" || scaling.type == "llama3";
  if (needs_factor || mapping.has("factor"))
    scaling.factor = mapping.number("factor", kFactorRange);
  if (scaling.type == "linear") return scaling;
  if (scaling.type == "llama3") {
    scaling.low_frequency_factor = mapping.number("low_freq_factor", kFactorRange);
    scaling.high_frequency_factor = mapping.number("high_freq_factor", kFactorRange);
    if (scaling.high_frequency_factor <= scaling.low_frequency_factor) {
      mapping.fail("high_freq_factor", "expected more than low_freq_factor");
    }
  }
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  const Fields& owner = fields.has(kOriginal) ? fields : mapping;
  scaling.original_positions =
      owner.has(kOriginal) ? owner.integer(kOriginal, {1, kLargestDimension}) : max_sequence;
  return scaling;
}

}  // namespace

RopeOp read_rope(const Config& config, std::int64_t head_size, std::int64_t max_sequence) {
  const Fields& fields = config.fields();
  if (head_size % 2 != 0) {
    fields.fail(fields.has("head_dim") ? "head_dim" : "hidden_size",
                "expected an even head size, found " + std::to_string(head_size),
                "rotary embedding turns pairs of features");
  }
  refuse_partial_rotation(fields);
  RopeOp rope;
  rope.head_size = head_size;
  rope.theta = config.number("rope_theta", kDefaultTheta, kThetaRange);
  if (const std::optional<Fields> mapping = rope_mapping(fields)) {
    refuse_nesting(*mapping);
    refuse_partial_rotation(*mapping);
    if (mapping->mentions("rope_theta")) rope.theta = mapping->number("rope_theta", kThetaRange);
    rope.scaling = read_scaling(fields, *mapping, max_sequence);
  }
  return rope;
}

}  // namespace ppplan::profiler
