#include "reports/documents/device_sheet.h"

#include "reports/documents/file.h"
#include "reports/documents/mapping.h"

namespace ppplan {
namespace {

constexpr Schema kSchema = {"device", 1};
constexpr NumberRange kFlops = {1e6, 1e21};
constexpr NumberRange kShare = {0.01, 1.0};
constexpr IntegerRange kDevices = {1, 65'536};

/// A rate that something can be divided by, and that is no slip of the unit.
void check_rate(const Fields& fields, std::string_view key, BytesPerSecond rate) {
  if (rate.value >= 1e3 && rate.value <= 1e18) return;
  fields.fail(key, "expected a number from 1e3 to 1e18, found " + MappingWriter::yaml(rate.value),
              "bytes a second: 400 Gb/s are 50e9");
}

}  // namespace

template <typename Io>
void describe(Io& io, Like<LinkSheet> auto& link) {
  io("name", link.name);
  io("latency_s", link.latency);
  io("bandwidth_bytes_per_s", link.bandwidth);
  io.usually("efficiency", link.efficiency, LinkSheet{}.efficiency, kShare);
}

template <typename Io>
void describe(Io& io, Like<DeviceSheet> auto& sheet) {
  const DeviceSheet usual;
  io("name", sheet.name);
  io("memory_bytes", sheet.memory);
  io("memory_bandwidth_bytes_per_s", sheet.memory_bandwidth);
  io("half_flops_per_s", sheet.half_flops_per_s, kFlops);
  io("float32_flops_per_s", sheet.float32_flops_per_s, kFlops);
  io.usually("matrix_efficiency", sheet.matrix_efficiency, usual.matrix_efficiency, kShare);
  io.usually("memory_efficiency", sheet.memory_efficiency, usual.memory_efficiency, kShare);
  io("kernel_overhead_s", sheet.kernel_overhead);
  io("launch_s", sheet.launch);
  io("devices_per_node", sheet.devices_per_node, kDevices);
  io.row("inside", sheet.inside);
  io.row("between", sheet.between);
}

void validate(const LinkSheet& link, const Fields& fields) {
  check_rate(fields, "bandwidth_bytes_per_s", link.bandwidth);
}

void validate(const DeviceSheet& sheet, const Fields& fields) {
  check_rate(fields, "memory_bandwidth_bytes_per_s", sheet.memory_bandwidth);
}

DeviceSheet read_device_sheet(std::string_view text, const std::string& name) {
  return read_document<DeviceSheet>(text, name, kSchema);
}

DeviceSheet load_device_sheet(const std::filesystem::path& path) {
  return read_device_sheet(read_file(path), path.string());
}

std::string write_device_sheet(const DeviceSheet& sheet) {
  return write_document(sheet, kSchema);
}

}  // namespace ppplan
