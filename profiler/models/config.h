// Reads keys of a Hugging Face configuration with the defaults of its class, and collects warnings.
#pragma once

#include "reports/documents/model.h"
#include "reports/documents/node.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ppplan::profiler {

/// The most any single dimension of a tensor may be: products of two stay below 2^62.
inline constexpr std::int64_t kLargestDimension = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kMostLayers = 10'000;

/// One configuration (or the nested one of a multimodal model). A key that is absent takes the
/// fallback; one that is null, out of range or of the wrong type throws Error(kBadInput) with its
/// place, unless the getter says that null means something. Keys nobody reads are ignored, as
/// transformers does.
class Config {
 public:
  /// `warnings` outlives the Config and receives what `warn` says.
  Config(Fields fields, std::vector<std::string>& warnings)
      : fields_(std::move(fields)), warnings_(&warnings) {}

  /// A dimension or count of at least one.
  [[nodiscard]] std::int64_t size(std::string_view key, std::int64_t fallback,
                                  std::int64_t most = kLargestDimension) const;
  /// Empty when the key is null or absent.
  [[nodiscard]] std::optional<std::int64_t> size_or_null(std::string_view key) const;
  [[nodiscard]] double number(std::string_view key, double fallback, NumberRange range) const;
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  /// A word of transformers' table of activations; those that are the same function share a result.
  [[nodiscard]] Activation activation(std::string_view key, std::string_view fallback) const;
  /// `initializer_range`; transformers reads 0 as its default, 0.02.
  [[nodiscard]] double init_std() const;

  /// Warns once about all of these keys whose value (or default) asks for dropout.
  void warn_about_dropout(const std::vector<std::string>& keys, double fallback) const;
  void warn(std::string_view key, const std::string& what) const;

  /// The raw mapping, for has, mentions, map, texts and fail.
  [[nodiscard]] const Fields& fields() const { return fields_; }

 private:
  Fields fields_;
  std::vector<std::string>* warnings_;
};

/// `layer_types`, one word a layer, when it is there; throws when their number is not
/// `layer_count`.
std::optional<std::vector<std::string>> read_layer_types(const Fields& fields,
                                                         std::int64_t layer_count);

/// Throws, naming the key of the hidden size, when `head_count` does not divide it.
void check_heads_divide(const Config& config, std::string_view key, std::int64_t hidden,
                        std::int64_t head_count);

}  // namespace ppplan::profiler
