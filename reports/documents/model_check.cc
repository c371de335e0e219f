// Whether a model document makes sense: programs that compute what their role promises, parameters
// whose shapes fit, layers in order, ties that lead to a stored tensor.
#include "reports/documents/described.h"
#include "reports/documents/excerpt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

namespace ppplan {
namespace {

constexpr std::size_t kMostKinds = 1'000;
constexpr std::size_t kMostLayers = 100'000;
constexpr std::size_t kMostSteps = 10'000;
constexpr std::size_t kMostDimensions = 8;

using Shape = std::vector<std::int64_t>;

std::string to_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// What a named value of a program is. Features are [B,S,width].
struct Value {
  enum class Type { kTokens, kLabels, kFeatures, kLoss };
  Type type = Type::kFeatures;
  std::int64_t width = 0;
  bool operator==(const Value&) const = default;
};

std::string to_text(const Value& value) {
  switch (value.type) {
    case Value::Type::kTokens:
      return "tokens";
    case Value::Type::kLabels:
      return "labels";
    case Value::Type::kLoss:
      return "a loss";
    case Value::Type::kFeatures:
      break;
  }
  return fmt::format("{} features", value.width);
}

constexpr Value kTokens = {Value::Type::kTokens, 0};
constexpr Value kLabels = {Value::Type::kLabels, 0};
constexpr Value kLoss = {Value::Type::kLoss, 0};
constexpr Value features(std::int64_t width) {
  return {Value::Type::kFeatures, width};
}

/// Runs one step of a program on the types of its values. One overload an operator: each returns
/// the types of the step's outputs.
class StepCheck {
 public:
  StepCheck(const Model& model, const LayerKind& kind, const Operator& step,
            std::vector<Value> inputs, const Fields& fields)
      : model_(model), kind_(kind), step_(step), inputs_(std::move(inputs)), fields_(fields) {}

  std::vector<Value> operator()(const EmbeddingOp& op) const {
    expect_inputs({kTokens});
    const Shape& shape = matrix(op.weight);
    if (shape[0] < model_.vocabulary)
      fail_shape("weight", op.weight,
                 fmt::format("at least {} rows (vocabulary)", model_.vocabulary));
    return {features(shape[1])};
  }
  std::vector<Value> operator()(const PositionEmbeddingOp& op) const {
    const std::int64_t width = only_width();
    const Shape& shape = matrix(op.weight);
    if (shape[0] < model_.max_sequence)
      fail_shape("weight", op.weight,
                 fmt::format("at least {} rows (max_sequence)", model_.max_sequence));
    if (shape[1] != width) fail_shape("weight", op.weight, fmt::format("{} columns", width));
    return {features(width)};
  }
  std::vector<Value> operator()(const LinearOp& op) const {
    expect_inputs({features(op.in_features)});
    const bool out_in = op.layout == WeightLayout::kOutIn;
    expect_shape(
        "weight", op.weight,
        out_in ? Shape{op.out_features, op.in_features} : Shape{op.in_features, op.out_features});
    if (op.bias) expect_shape("bias", *op.bias, {op.out_features});
    return {features(op.out_features)};
  }
  std::vector<Value> operator()(const RmsNormOp& op) const {
    expect_multiple("width", only_width(), op.width);
    expect_shape("weight", op.weight, {op.width});
    return inputs_;
  }
  std::vector<Value> operator()(const LayerNormOp& op) const {
    expect_multiple("width", only_width(), op.width);
    expect_shape("weight", op.weight, {op.width});
    expect_shape("bias", op.bias, {op.width});
    return inputs_;
  }
  std::vector<Value> operator()(const RopeOp& op) const {
    expect_multiple("head_size", only_width(), op.head_size);
    if (op.head_size % 2 != 0)
      fields_.fail("head_size", fmt::format("expected an even number, found {}", op.head_size));
    return inputs_;
  }
  std::vector<Value> operator()(const AttentionOp& op) const {
    expect_multiple("kv_head_count", op.head_count, op.kv_head_count);
    const std::int64_t query_width = op.head_count * op.head_size;
    const std::int64_t key_width = op.kv_head_count * op.head_size;
    expect_inputs({features(query_width), features(key_width), features(key_width)});
    return {features(query_width)};
  }
  std::vector<Value> operator()(const ActivationOp& /*op*/) const {
    return {features(only_width())};
  }
  std::vector<Value> operator()(const GatedActivationOp& /*op*/) const { return two_alike(); }
  std::vector<Value> operator()(const AddOp& /*op*/) const { return two_alike(); }
  std::vector<Value> operator()(const SplitOp& op) const {
    expect_inputs({features(std::accumulate(op.widths.begin(), op.widths.end(), std::int64_t{0}))});
    std::vector<Value> parts;
    for (const std::int64_t width : op.widths) parts.push_back(features(width));
    return parts;
  }
  std::vector<Value> operator()(const LinearCrossEntropyOp& op) const {
    expect_inputs({features(op.in_features), kLabels});
    expect_shape("weight", op.weight, {op.vocabulary, op.in_features});
    return {kLoss};
  }

 private:
  void expect_inputs(const std::vector<Value>& wanted) const {
    if (inputs_.size() != wanted.size()) {
      fields_.fail("in",
                   fmt::format("expected {} values, found {}", wanted.size(), inputs_.size()));
    }
    for (std::size_t place = 0; place < wanted.size(); ++place) {
      if (inputs_[place] == wanted[place]) continue;
      fields_.fail("in", fmt::format("expected {} in {}, found {}", to_text(wanted[place]),
                                     excerpt(step_.inputs[place]), to_text(inputs_[place])));
    }
  }
  /// The width of the single input, which must be features.
  [[nodiscard]] std::int64_t only_width() const {
    expect_inputs({features(inputs_.empty() ? 0 : inputs_[0].width)});
    return inputs_[0].width;
  }
  [[nodiscard]] std::vector<Value> two_alike() const {
    const Value first = features(inputs_.empty() ? 0 : inputs_[0].width);
    expect_inputs({first, first});
    return {first};
  }
  void expect_multiple(std::string_view key, std::int64_t whole, std::int64_t part) const {
    if (whole % part == 0) return;
    fields_.fail(key, fmt::format("expected a divisor of {}, found {}", whole, part));
  }
  [[nodiscard]] const Shape& shape_of(std::string_view key, const std::string& name) const {
    for (const Parameter& parameter : kind_.parameters) {
      if (parameter.name == name) return parameter.shape;
    }
    std::vector<std::string> known;
    for (const Parameter& parameter : kind_.parameters) known.push_back(parameter.name);
    const auto near = nearest_word(name, known);
    fields_.fail(
        key,
        fmt::format("expected a parameter of {}, found {}", excerpt(kind_.name), excerpt(name)),
        near ? fmt::format("did you mean {}?", *near) : "");
  }
  void expect_shape(std::string_view key, const std::string& name, const Shape& wanted) const {
    if (shape_of(key, name) != wanted)
      fail_shape(key, name, fmt::format("shape {}", to_text(wanted)));
  }
  [[nodiscard]] const Shape& matrix(const std::string& name) const {
    const Shape& shape = shape_of("weight", name);
    if (shape.size() != 2) fail_shape("weight", name, "2 dimensions");
    return shape;
  }
  [[noreturn]] void fail_shape(std::string_view key, const std::string& name,
                               const std::string& wanted) const {
    fields_.fail(key, fmt::format("expected {} with {}, found {}", excerpt(name), wanted,
                                  to_text(shape_of(key, name))));
  }

  const Model& model_;
  const LayerKind& kind_;
  const Operator& step_;
  std::vector<Value> inputs_;
  const Fields& fields_;
};

void check_program(const Model& model, const LayerKind& kind, const Fields& fields) {
  std::map<std::string, Value, std::less<>> values;
  if (kind.role == LayerRole::kEmbedding) {
    values["tokens"] = kTokens;
  } else {
    values["x"] = features(model.hidden);
  }
  if (kind.role == LayerRole::kHead) values["labels"] = kLabels;
  const std::string result = kind.role == LayerRole::kHead ? "loss" : "x";
  const Value wanted = kind.role == LayerRole::kHead ? kLoss : features(model.hidden);
  bool assigned = false;
  const std::vector<Fields> steps = fields.maps("program");
  for (std::size_t place = 0; place < kind.program.size(); ++place) {
    const Operator& step = kind.program[place];
    std::vector<Value> inputs;
    for (const std::string& name : step.inputs) {
      const auto value = values.find(name);
      if (value == values.end())
        steps[place].fail("in",
                          fmt::format("expected a value assigned before, found {}", excerpt(name)));
      inputs.push_back(value->second);
    }
    const std::vector<Value> outputs =
        std::visit(StepCheck(model, kind, step, std::move(inputs), steps[place]), step.body);
    if (outputs.size() != step.outputs.size()) {
      steps[place].fail(
          "out", fmt::format("expected {} names, found {}", outputs.size(), step.outputs.size()));
    }
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      values[step.outputs[output]] = outputs[output];
      assigned = assigned || step.outputs[output] == result;
    }
  }
  if (!assigned)
    fields.fail("program", fmt::format("expected a step that assigns {}, found none", result));
  if (values[result] != wanted) {
    fields.fail("program", fmt::format("expected {} in {} at the end, found {}", to_text(wanted),
                                       result, to_text(values[result])));
  }
}

void check_kinds(const Model& model, const Fields& fields) {
  const std::vector<Fields> kinds = fields.maps("kinds");
  if (kinds.empty() || kinds.size() > kMostKinds) {
    fields.fail("kinds", fmt::format("expected 1 to {} kinds, found {}", kMostKinds, kinds.size()));
  }
  std::unordered_set<std::string_view> names;
  for (std::size_t place = 0; place < kinds.size(); ++place) {
    const LayerKind& kind = model.kinds[place];
    if (kind.name.empty()) kinds[place].fail("name", "expected a name, found none");
    if (!names.insert(kind.name).second)
      kinds[place].fail("name",
                        fmt::format("expected each name once, found {} again", excerpt(kind.name)));
    if (kind.parameters.size() > kMostSteps)
      kinds[place].fail("parameters", fmt::format("expected at most {}, found {}", kMostSteps,
                                                  kind.parameters.size()));
    if (kind.program.size() > kMostSteps)
      kinds[place].fail("program", fmt::format("expected at most {} steps, found {}", kMostSteps,
                                               kind.program.size()));
    std::unordered_set<std::string_view> parameters;
    const std::vector<Fields> rows = kinds[place].maps("parameters");
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Parameter& parameter = kind.parameters[row];
      if (parameter.name.empty()) rows[row].fail("name", "expected a name, found none");
      if (!parameters.insert(parameter.name).second)
        rows[row].fail("name", fmt::format("expected each name once, found {} again",
                                           excerpt(parameter.name)));
      if (parameter.shape.empty() || parameter.shape.size() > kMostDimensions) {
        rows[row].fail("shape", fmt::format("expected 1 to {} dimensions, found {}",
                                            kMostDimensions, parameter.shape.size()));
      }
    }
    check_program(model, kind, kinds[place]);
  }
}

LayerRole role_at(std::size_t layer, std::size_t layer_count) {
  if (layer == 0) return LayerRole::kEmbedding;
  return layer + 1 == layer_count ? LayerRole::kHead : LayerRole::kBlock;
}

/// Embedding first, head last, blocks between; O(layers * parameters a layer).
class LayerCheck {
 public:
  LayerCheck(const Model& model, const Fields& fields)
      : model_(model), fields_(fields), rows_(fields.maps("layers")) {}

  void run() {
    if (rows_.size() < 2 || rows_.size() > kMostLayers) {
      fields_.fail("layers",
                   fmt::format("expected 2 to {} layers, found {}", kMostLayers, rows_.size()));
    }
    for (std::size_t layer = 0; layer < rows_.size(); ++layer) check(layer);
  }

 private:
  void check(std::size_t layer) {
    static const char* const kRoles[] = {"embedding", "block", "head"};
    const Layer& at = model_.layers[layer];
    const LayerKind& kind = model_.kinds[static_cast<std::size_t>(at.kind)];
    const LayerRole wanted = role_at(layer, rows_.size());
    if (kind.role != wanted) {
      rows_[layer].fail("kind",
                        fmt::format("expected a kind of role {} here, found {} of role {}",
                                    kRoles[static_cast<int>(wanted)], excerpt(kind.name),
                                    kRoles[static_cast<int>(kind.role)]),
                        "layers go embedding, blocks, head");
    }
    std::unordered_map<std::string_view, const Parameter*> untied;
    for (const Parameter& parameter : kind.parameters) untied.emplace(parameter.name, &parameter);
    const std::vector<Fields> ties =
        at.tied.empty() ? std::vector<Fields>{} : rows_[layer].maps("tied");
    for (std::size_t tie = 0; tie < at.tied.size(); ++tie) {
      const auto parameter = untied.find(at.tied[tie].name);
      if (parameter == untied.end()) {
        ties[tie].fail("name", fmt::format("expected a parameter of {}, once, found {}",
                                           excerpt(kind.name), excerpt(at.tied[tie].name)));
      }
      check_owner(at.tied[tie], *parameter->second, ties[tie]);
      untied.erase(parameter);
    }
    for (const auto& [name, parameter] : untied) {
      const std::string global = at.prefix + parameter->name;
      if (!stored_.emplace(global, parameter).second) {
        rows_[layer].fail("prefix",
                          fmt::format("expected names of its own, found {} again", excerpt(global)),
                          "tie the parameter, or change the prefix");
      }
    }
  }

  void check_owner(const TiedParameter& tied, const Parameter& parameter,
                   const Fields& fields) const {
    const auto owner = stored_.find(tied.owner);
    if (owner == stored_.end()) {
      fields.fail("owner", fmt::format("expected a tensor of an earlier layer, found {}",
                                       excerpt(tied.owner)));
    }
    if (owner->second->shape != parameter.shape) {
      fields.fail("owner", fmt::format("expected a tensor of shape {}, found {}",
                                       to_text(parameter.shape), to_text(owner->second->shape)));
    }
  }

  const Model& model_;
  const Fields& fields_;
  std::vector<Fields> rows_;
  std::unordered_map<std::string, const Parameter*> stored_;  ///< by global name
};

}  // namespace

void validate(const Model& model, const Fields& fields) {
  check_kinds(model, fields);
  LayerCheck(model, fields).run();
  static_cast<void>(parameter_count(model));
}

}  // namespace ppplan
