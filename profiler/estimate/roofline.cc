#include "profiler/estimate/roofline.h"

#include <algorithm>
#include <cmath>

namespace ppplan::profiler {
namespace {

constexpr Seconds kRamp{2e-6};
constexpr double kTile = 128.0;
constexpr double kAttentionForward = 0.8;
constexpr double kAttentionBackward = 0.7;

double tiled(double size) {
  return std::ceil(size / kTile) * kTile;
}

}  // namespace

double peak_flops_per_s(const DeviceSheet& sheet, const Precision& precision) {
  return precision.activation_bytes < 4 ? sheet.half_flops_per_s : sheet.float32_flops_per_s;
}

Roofline::Roofline(const DeviceSheet& sheet, const Precision& precision)
    : flops_per_s_(peak_flops_per_s(sheet, precision) * sheet.matrix_efficiency),
      bytes_per_s_(sheet.memory_bandwidth.value * sheet.memory_efficiency),
      overhead_(sheet.kernel_overhead),
      launch_(sheet.launch) {}

KernelTime Roofline::kernel(double flops, double flops_per_s, double bytes) const {
  return {overhead_ + Seconds(std::max(flops / flops_per_s, bytes / bytes_per_s_)), launch_};
}

KernelTime Roofline::product(const MatrixProduct& product) const {
  const double flops =
      2.0 * product.count * tiled(product.rows) * product.inner * tiled(product.columns);
  return KernelTime{.device = kRamp} + kernel(flops, flops_per_s_, product.bytes * product.count);
}

KernelTime Roofline::stream(double bytes) const {
  return bytes > 0.0 ? kernel(0.0, 1.0, bytes) : KernelTime{};
}

KernelTime Roofline::attention_forward(double flops, double bytes) const {
  return KernelTime{.device = kRamp} + kernel(flops, flops_per_s_ * kAttentionForward, bytes);
}

KernelTime Roofline::attention_backward(double flops, double bytes) const {
  return KernelTime{.device = kRamp} + kernel(flops, flops_per_s_ * kAttentionBackward, bytes);
}

}  // namespace ppplan::profiler
