#include "executor/rank/verify.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace ppplan::executor {
namespace {

double frobenius(const at::Tensor& tensor) {
  return at::linalg_vector_norm(tensor, 2, at::OptionalIntArrayRef(), false, at::kDouble)
      .item<double>();
}

}  // namespace

GradientCheck check_gradients(const ParameterStore& store, const WeightFiles& reference,
                              double tolerance) {
  GradientCheck check;
  check.tolerance = tolerance;
  for (const auto& [name, tensor] : store.all()) {
    if (!tensor->gradient.defined()) continue;
    const at::Tensor expected = at::empty_like(tensor->gradient);
    reference.read_into(name, expected);
    const double size = frobenius(expected);
    const double own_size = frobenius(tensor->gradient);
    const double along = at::dot(tensor->gradient.flatten(), expected.flatten()).item<double>();
    const double difference = frobenius(expected.sub_(tensor->gradient));
    ++check.parameter_count;
    // A tensor that takes no gradient (a bias the softmax cancels) holds rounding noise alone.
    constexpr double kNoise = 1e-10;
    double error = 0.0;
    if (size > kNoise || own_size > kNoise) error = size > 0.0 ? difference / size : INFINITY;
    if (!std::isfinite(error)) error = std::numeric_limits<double>::max();
    if (check.worst_name.empty() || error > check.worst) {
      check.worst = error;
      check.worst_name = name;
      check.worst_ratio = size > 0.0 ? along / (size * size) : 0.0;
    }
  }
  check.passed = check.worst <= tolerance;
  return check;
}

}  // namespace ppplan::executor
