#include "profiler/models/kind_builder.h"

#include <utility>

namespace ppplan::profiler {

KindBuilder::KindBuilder(std::string name, LayerRole role, double init_std) : init_std_(init_std) {
  kind_.name = std::move(name);
  kind_.role = role;
}

std::string KindBuilder::weight(const std::string& name, std::vector<std::int64_t> shape,
                                double init_std) {
  kind_.parameters.push_back({.name = name + ".weight",
                              .shape = std::move(shape),
                              .init = Init::kNormal,
                              .init_std = init_std});
  return kind_.parameters.back().name;
}

std::string KindBuilder::constant(const std::string& name, std::int64_t width, Init init) {
  kind_.parameters.push_back({.name = name, .shape = {width}, .init = init});
  return name;
}

KindBuilder& KindBuilder::embedding(const std::string& name, std::int64_t rows,
                                    std::int64_t width) {
  return apply({"tokens"}, {"x"}, EmbeddingOp{weight(name, {rows, width}, init_std_)});
}

KindBuilder& KindBuilder::position_embedding(const std::string& name, std::int64_t rows,
                                             std::int64_t width) {
  return apply({"x"}, {"x"}, PositionEmbeddingOp{weight(name, {rows, width}, init_std_)});
}

KindBuilder& KindBuilder::linear(const std::string& from, const std::string& to,
                                 const LinearSpec& spec) {
  std::vector<std::int64_t> shape{spec.out_features, spec.in_features};
  if (spec.layout == WeightLayout::kInOut) std::swap(shape[0], shape[1]);
  LinearOp op{.weight = weight(spec.name, std::move(shape), spec.init_std.value_or(init_std_)),
              .bias = std::nullopt,
              .in_features = spec.in_features,
              .out_features = spec.out_features,
              .layout = spec.layout};
  if (spec.has_bias) op.bias = constant(spec.name + ".bias", spec.out_features, Init::kZeros);
  return apply({from}, {to}, std::move(op));
}

KindBuilder& KindBuilder::rms_norm(const std::string& from, const std::string& to,
                                   const NormSpec& spec) {
  return apply({from}, {to},
               RmsNormOp{.weight = constant(spec.name + ".weight", spec.width, Init::kOnes),
                         .width = spec.width,
                         .epsilon = spec.epsilon});
}

KindBuilder& KindBuilder::layer_norm(const std::string& from, const std::string& to,
                                     const NormSpec& spec) {
  return apply({from}, {to},
               LayerNormOp{.weight = constant(spec.name + ".weight", spec.width, Init::kOnes),
                           .bias = constant(spec.name + ".bias", spec.width, Init::kZeros),
                           .width = spec.width,
                           .epsilon = spec.epsilon});
}

KindBuilder& KindBuilder::apply(std::vector<std::string> from, std::vector<std::string> to,
                                OperatorBody body) {
  kind_.program.push_back(
      {.inputs = std::move(from), .outputs = std::move(to), .body = std::move(body)});
  return *this;
}

KindBuilder& KindBuilder::cross_entropy(const std::string& name, std::int64_t rows,
                                        std::int64_t width) {
  return apply({"x", "labels"}, {"loss"},
               LinearCrossEntropyOp{.weight = weight(name, {rows, width}, init_std_),
                                    .in_features = width,
                                    .vocabulary = rows});
}

}  // namespace ppplan::profiler
