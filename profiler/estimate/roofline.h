// How long a kernel takes on a device that is known by its data sheet.
//
// A kernel is limited by arithmetic or by memory, whichever is slower (Williams et al. 2009,
// "Roofline"), each at the part of the sheet's rate that large kernels reach; before it, the device
// stands still for the sheet's `kernel_overhead`. A matrix product also has to fill the device and
// to drain it: kRamp. That makes its efficiency grow with its size, e / (1 + ramp * peak /
// operations): at e = 0.95 and 2 us the 0.58, 0.91 and 0.95 of 1, 16 and 128 GFLOP on 312 TFLOP/s,
// where the tables of calculon (Isaev et al. 2023, systems/a100_80g.json) say 0.6, 0.9 and 0.95.
// Rows and columns are rounded up to whole tiles of 128 (NVIDIA, "Matrix multiplication
// background", tile quantization).
#pragma once

#include "profiler/models/counts.h"
#include "reports/documents/device_sheet.h"
#include "reports/documents/units.h"

#include <algorithm>

namespace ppplan::profiler {

/// Kernels one after the other. The host starts them ahead of the device, so that they take the
/// device's time or the host's, whichever is longer.
struct KernelTime {
  Seconds device{0};
  Seconds host{0};
  KernelTime& operator+=(const KernelTime& other) {
    device += other.device;
    host += other.host;
    return *this;
  }
  friend KernelTime operator+(KernelTime a, const KernelTime& b) { return a += b; }
  friend KernelTime operator*(double count, const KernelTime& time) {
    return {count * time.device, count * time.host};
  }
  [[nodiscard]] Seconds total() const { return std::max(device, host); }
};

/// A matrix product [rows, inner] x [inner, columns].
struct MatrixProduct {
  double rows = 0.0;
  double inner = 0.0;
  double columns = 0.0;
  double bytes = 0.0;  ///< operands and result
  double count = 1.0;  ///< as many alike in one kernel
};

/// The sheet's peak of matrix products at a precision.
double peak_flops_per_s(const DeviceSheet& sheet, const Precision& precision);

class Roofline {
 public:
  Roofline(const DeviceSheet& sheet, const Precision& precision);

  [[nodiscard]] KernelTime product(const MatrixProduct& product) const;
  /// A kernel that reads and writes so many bytes; none when there are none.
  [[nodiscard]] KernelTime stream(double bytes) const;
  /// Attention in one kernel. Dao 2023 (FlashAttention-2, figures 5 and 6; A100, causal, heads of
  /// 128): of what large products reach, forward 0.8 and backward 0.7.
  [[nodiscard]] KernelTime attention_forward(double flops, double bytes) const;
  [[nodiscard]] KernelTime attention_backward(double flops, double bytes) const;

 private:
  [[nodiscard]] KernelTime kernel(double flops, double flops_per_s, double bytes) const;

  double flops_per_s_;  ///< that large products reach
  double bytes_per_s_;
  Seconds overhead_;
  Seconds launch_;
};

}  // namespace ppplan::profiler
