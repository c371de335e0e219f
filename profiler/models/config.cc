#include "profiler/models/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace ppplan::profiler {
namespace {

struct NamedActivation {
  const char* name;
  Activation activation;
};

/// transformers' activations.py, ACT2CLS: the entries that are one of our four functions.
constexpr std::array<NamedActivation, 10> kActivations{{
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_python_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_accurate", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
}};

}  // namespace

std::int64_t Config::size(std::string_view key, std::int64_t fallback, std::int64_t most) const {
  return fields_.mentions(key) ? fields_.integer(key, {1, most}) : fallback;
}

std::optional<std::int64_t> Config::size_or_null(std::string_view key) const {
  if (!fields_.has(key)) return std::nullopt;
  return fields_.integer(key, {1, kLargestDimension});
}

double Config::number(std::string_view key, double fallback, NumberRange range) const {
  return fields_.mentions(key) ? fields_.number(key, range) : fallback;
}

bool Config::flag(std::string_view key, bool fallback) const {
  return fields_.mentions(key) ? fields_.boolean(key) : fallback;
}

Activation Config::activation(std::string_view key, std::string_view fallback) const {
  const std::string name = fields_.mentions(key) ? fields_.text(key) : std::string(fallback);
  std::vector<std::string> known;
  for (const NamedActivation& entry : kActivations) {
    if (name == entry.name) return entry.activation;
    known.emplace_back(entry.name);
  }
  fields_.fail(key, fmt::format("expected an activation ppplan runs, found {}", name),
               fmt::format("known are {}", fmt::join(known, ", ")));
}

double Config::init_std() const {
  const double std = number("initializer_range", 0.02, {0.0, 1e3});
  return std == 0.0 ? 0.02 : std;
}

void Config::warn_about_dropout(const std::vector<std::string>& keys, double fallback) const {
  std::vector<std::string> asking;
  for (const std::string& key : keys) {
    const bool is_null = fields_.mentions(key) && !fields_.has(key);
    if (!is_null && number(key, fallback, {0.0, 1.0}) > 0.0) asking.push_back(key);
  }
  if (asking.empty()) return;
  warnings_->push_back(fmt::format("{}: dropout is left out of counts, measurements and runs",
                                   fmt::join(asking, ", ")));
}

void Config::warn(std::string_view key, const std::string& what) const {
  warnings_->push_back(fields_.where(key) + what);
}

std::optional<std::vector<std::string>> read_layer_types(const Fields& fields,
                                                         std::int64_t layer_count) {
  if (!fields.has("layer_types")) return std::nullopt;
  std::vector<std::string> types = fields.texts("layer_types");
  if (types.size() != static_cast<std::size_t>(layer_count)) {
    fields.fail("layer_types",
                fmt::format("expected one entry for each of {} layers, found {}", layer_count,
                            types.size()),
                "make num_hidden_layers and layer_types agree");
  }
  return types;
}

void check_heads_divide(const Config& config, std::string_view key, std::int64_t hidden,
                        std::int64_t head_count) {
  if (hidden % head_count == 0) return;
  config.fields().fail(
      key, fmt::format("expected a multiple of {} heads, found {}", head_count, hidden));
}

}  // namespace ppplan::profiler
