#include "reports/documents/model.h"

#include "reports/documents/described.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace ppplan {
namespace {

constexpr Schema kSchema = {"model", 1};
constexpr IntegerRange kSize = {1, std::int64_t{1} << 31};
constexpr std::int64_t kMostElements = std::int64_t{1} << 62;

const std::vector<std::string> kInitWords = {"normal", "zeros", "ones"};
const std::vector<std::string> kRoleWords = {"embedding", "block", "head"};
const std::vector<std::string> kLayoutWords = {"out_in", "in_out"};
const std::vector<std::string> kActivationWords = {"silu", "gelu", "gelu_tanh", "relu"};
/// In the order of OperatorBody's alternatives.
const std::vector<std::string> kOperatorWords = {
    "embedding", "position_embedding",  "linear",     "rms_norm",         "layer_norm",
    "rope",      "attention",           "activation", "gated_activation", "add",
    "split",     "linear_cross_entropy"};
static_assert(std::variant_size_v<OperatorBody> == 12, "name the new operator above");

/// Makes `body` hold its alternative of that index.
template <std::size_t... Index>
void select(OperatorBody& body, std::size_t index, std::index_sequence<Index...> /*all*/) {
  ((index == Index ? static_cast<void>(body.emplace<Index>()) : void()), ...);
}
void select(OperatorBody& body, std::size_t index) {
  select(body, index, std::make_index_sequence<std::variant_size_v<OperatorBody>>{});
}
void select(const OperatorBody& /*body*/, std::size_t /*index*/) {}

/// a + b or a * b of non-negative numbers, within 2^62.
std::int64_t checked(std::int64_t a, std::int64_t b, bool overflow, std::int64_t result) {
  if (!overflow && result <= kMostElements) return result;
  throw Error(Failure::kBadInput,
              fmt::format("expected at most 2^62 parameters, found more ({} and {})", a, b),
              "check the shapes");
}
std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  const bool overflow = __builtin_add_overflow(a, b, &sum);
  return checked(a, b, overflow, sum);
}
std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  const bool overflow = __builtin_mul_overflow(a, b, &product);
  return checked(a, b, overflow, product);
}

std::int64_t element_count(const Parameter& parameter) {
  std::int64_t count = 1;
  for (const std::int64_t size : parameter.shape) count = checked_product(count, size);
  return count;
}

}  // namespace

template <typename Io>
void describe(Io& io, Like<Parameter> auto& parameter) {
  io("name", parameter.name);
  io("shape", parameter.shape, kSize);
  io.word("init", parameter.init, kInitWords);
  if (io.holds("init_std", parameter.init_std != 0.0)) io("init_std", parameter.init_std);
}

template <typename Io>
void describe(Io& io, Like<EmbeddingOp> auto& op) {
  io("weight", op.weight);
}

template <typename Io>
void describe(Io& io, Like<PositionEmbeddingOp> auto& op) {
  io("weight", op.weight);
}

template <typename Io>
void describe(Io& io, Like<LinearOp> auto& op) {
  io("weight", op.weight);
  io.optional("bias", op.bias);
  io("in_features", op.in_features, kSize);
  io("out_features", op.out_features, kSize);
  if (io.holds("layout", op.layout != WeightLayout::kOutIn))
    io.word("layout", op.layout, kLayoutWords);
}

template <typename Io>
void describe(Io& io, Like<RmsNormOp> auto& op) {
  io("weight", op.weight);
  io("width", op.width, kSize);
  io("epsilon", op.epsilon);
}

template <typename Io>
void describe(Io& io, Like<LayerNormOp> auto& op) {
  io("weight", op.weight);
  io("bias", op.bias);
  io("width", op.width, kSize);
  io("epsilon", op.epsilon);
}

template <typename Io>
void describe(Io& io, Like<RopeScaling> auto& scaling) {
  io("type", scaling.type);
  io("factor", scaling.factor);
  io("low_frequency_factor", scaling.low_frequency_factor);
  io("high_frequency_factor", scaling.high_frequency_factor);
  io("original_positions", scaling.original_positions);
}

template <typename Io>
void describe(Io& io, Like<RopeOp> auto& op) {
  io("head_size", op.head_size, kSize);
  io("theta", op.theta);
  if (io.holds("scaling", op.scaling != RopeScaling{})) io.row("scaling", op.scaling);
}

template <typename Io>
void describe(Io& io, Like<AttentionOp> auto& op) {
  io("head_count", op.head_count, kSize);
  io("kv_head_count", op.kv_head_count, kSize);
  io("head_size", op.head_size, kSize);
  io.optional("window", op.window, kSize);
}

template <typename Io>
void describe(Io& io, Like<ActivationOp> auto& op) {
  io.word("activation", op.activation, kActivationWords);
}

template <typename Io>
void describe(Io& io, Like<GatedActivationOp> auto& op) {
  io.word("activation", op.activation, kActivationWords);
}

template <typename Io>
void describe(Io& /*io*/, Like<AddOp> auto& /*op*/) {}

template <typename Io>
void describe(Io& io, Like<SplitOp> auto& op) {
  io("widths", op.widths, kSize);
}

template <typename Io>
void describe(Io& io, Like<LinearCrossEntropyOp> auto& op) {
  io("weight", op.weight);
  io("in_features", op.in_features, kSize);
  io("vocabulary", op.vocabulary, kSize);
}

template <typename Io>
void describe(Io& io, Like<Operator> auto& step) {
  std::size_t index = step.body.index();
  io.word("op", index, kOperatorWords);
  select(step.body, index);
  io("in", step.inputs);
  io("out", step.outputs);
  std::visit([&](auto& body) { describe(io, body); }, step.body);
}

template <typename Io>
void describe(Io& io, Like<LayerKind> auto& kind) {
  io("name", kind.name);
  io.word("role", kind.role, kRoleWords);
  io.rows("parameters", kind.parameters);
  io.rows("program", kind.program);
}

template <typename Io>
void describe(Io& io, Like<TiedParameter> auto& tied) {
  io("name", tied.name);
  io("owner", tied.owner);
}

template <typename Io>
void describe(Io& io, Like<Layer> auto& layer, const std::vector<std::string>& kinds) {
  io.word("kind", layer.kind, kinds);
  io("prefix", layer.prefix);
  if (io.holds("tied", !layer.tied.empty())) io.rows("tied", layer.tied);
  if (io.holds("frozen", layer.frozen)) io("frozen", layer.frozen);
}

template <typename Io>
void describe_model(Io& io, Like<Model> auto& model) {
  io("name", model.name);
  io("family", model.family);
  io("hidden", model.hidden, kSize);
  io("vocabulary", model.vocabulary, kSize);
  io("max_sequence", model.max_sequence, kSize);
  io.blocks("kinds", model.kinds);
  io.rows("layers", model.layers, kind_names(model));
}

void describe(MappingReader& io, Model& model) {
  describe_model(io, model);
}
void describe(MappingWriter& io, const Model& model) {
  describe_model(io, model);
}

std::vector<std::string> kind_names(const Model& model) {
  std::vector<std::string> names;
  names.reserve(model.kinds.size());
  for (const LayerKind& kind : model.kinds) names.push_back(kind.name);
  return names;
}

std::vector<std::string> parameter_names(const Model& model, int layer) {
  const Layer& at = model.layers.at(static_cast<std::size_t>(layer));
  std::vector<std::string> names;
  for (const Parameter& parameter : model.kinds.at(static_cast<std::size_t>(at.kind)).parameters) {
    const auto tied = std::find_if(at.tied.begin(), at.tied.end(), [&](const TiedParameter& t) {
      return t.name == parameter.name;
    });
    names.push_back(tied == at.tied.end() ? at.prefix + parameter.name : tied->owner);
  }
  return names;
}

std::int64_t parameter_count(const LayerKind& kind) {
  std::int64_t count = 0;
  for (const Parameter& parameter : kind.parameters)
    count = checked_sum(count, element_count(parameter));
  return count;
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const Layer& layer : model.layers) {
    for (const Parameter& parameter :
         model.kinds.at(static_cast<std::size_t>(layer.kind)).parameters) {
      const bool tied =
          std::any_of(layer.tied.begin(), layer.tied.end(),
                      [&](const TiedParameter& t) { return t.name == parameter.name; });
      if (!tied) count = checked_sum(count, element_count(parameter));
    }
  }
  return count;
}

Model read_model(const Fields& fields) {
  Model model;
  MappingReader::fill(fields, model);
  return model;
}

std::string write_model(const Model& model, int indent) {
  MappingWriter io(MappingWriter::Style::kBlock, indent);
  describe(io, model);
  return io.take();
}

Model read_model_file(std::string_view text, const std::string& name) {
  return read_document<Model>(text, name, kSchema);
}

Model load_model_file(const std::filesystem::path& path) {
  return read_model_file(read_file(path), path.string());
}

std::string write_model_file(const Model& model) {
  return write_document(model, kSchema);
}

}  // namespace ppplan
