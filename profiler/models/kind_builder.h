// Writes a layer kind's parameters and program side by side, so that neither can miss the other.
#pragma once

#include "reports/documents/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ppplan::profiler {

/// A linear map and its parameters "<name>.weight" and, with `has_bias`, "<name>.bias" (zeros).
struct LinearSpec {
  std::string name;
  std::int64_t in_features = 0;
  std::int64_t out_features = 0;
  bool has_bias = false;
  WeightLayout layout = WeightLayout::kOutIn;
  std::optional<double> init_std = {};  ///< empty: the kind's
};

/// A norm's parameters "<name>.weight" (ones) and, of LayerNorm, "<name>.bias" (zeros).
struct NormSpec {
  std::string name;
  std::int64_t width = 0;
  double epsilon = 0.0;
};

/// Builds one LayerKind in the order of its forward pass. Each operator reads `from` and assigns
/// `to`; names follow LayerKind's rules ("tokens" or "x" at the start).
class KindBuilder {
 public:
  /// Weights start normal with standard deviation `init_std`.
  KindBuilder(std::string name, LayerRole role, double init_std);

  KindBuilder& embedding(const std::string& name, std::int64_t rows, std::int64_t width);
  KindBuilder& position_embedding(const std::string& name, std::int64_t rows, std::int64_t width);
  KindBuilder& linear(const std::string& from, const std::string& to, const LinearSpec& spec);
  KindBuilder& rms_norm(const std::string& from, const std::string& to, const NormSpec& spec);
  KindBuilder& layer_norm(const std::string& from, const std::string& to, const NormSpec& spec);
  /// An operator without parameters.
  KindBuilder& apply(std::vector<std::string> from, std::vector<std::string> to, OperatorBody body);
  /// The last operator of a head: x and labels to loss, through weight "<name>.weight" [rows,
  /// width].
  KindBuilder& cross_entropy(const std::string& name, std::int64_t rows, std::int64_t width);

  /// The finished kind; the builder is used up.
  [[nodiscard]] LayerKind build() { return std::move(kind_); }

 private:
  std::string weight(const std::string& name, std::vector<std::int64_t> shape, double init_std);
  std::string constant(const std::string& name, std::int64_t width, Init init);

  LayerKind kind_;
  double init_std_;
};

}  // namespace ppplan::profiler
