// device.yaml: what a data sheet says about an accelerator and its links, for machines that nobody
// can measure on yet.
#pragma once

#include "reports/documents/units.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace ppplan {

/// A link as it is sold: one direction, before what a library makes of it.
struct LinkSheet {
  std::string name;  ///< "nvlink", "infiniband", ...
  Seconds latency{0};
  BytesPerSecond bandwidth;
  /// Part of `bandwidth` that large transfers reach.
  double efficiency = 0.8;
  bool operator==(const LinkSheet&) const = default;
};

struct DeviceSheet {
  std::string name;  ///< "NVIDIA H100 SXM"
  Bytes memory;
  BytesPerSecond memory_bandwidth;
  /// Dense matrix products a second, two operations a multiply-add: of bfloat16 (float16 where the
  /// device has no bfloat16) accumulated in float32, and of float32 without shortened operands.
  double half_flops_per_s = 0.0;
  double float32_flops_per_s = 0.0;
  double matrix_efficiency = 0.75;  ///< part of the above that large matrix products reach
  double memory_efficiency = 0.85;  ///< part of `memory_bandwidth` that large copies reach
  Seconds kernel_overhead{0};       ///< the device idle between one kernel and the next
  Seconds launch{0};                ///< the host's time to start one kernel
  int devices_per_node = 1;
  LinkSheet inside;   ///< between two devices of a node
  LinkSheet between;  ///< between two devices of different nodes
  bool operator==(const DeviceSheet&) const = default;
};

/// Throw Error(kBadInput) "file:line:column: key: expected ..., found ..." with a hint.
DeviceSheet read_device_sheet(std::string_view text, const std::string& name);
DeviceSheet load_device_sheet(const std::filesystem::path& path);
/// The document; reading it back gives an equal DeviceSheet.
std::string write_device_sheet(const DeviceSheet& sheet);

}  // namespace ppplan
