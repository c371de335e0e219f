#include "profiler/estimate/data_sheets.h"

#include "reports/documents/error.h"
#include "reports/documents/node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace ppplan::profiler {
namespace {

struct Named {
  const char* key;
  const char* name;
  std::int64_t memory_bytes;
  double memory_bytes_per_s;
  double half_flops_per_s;  // dense, accumulated in float32
  double float32_flops_per_s;
  double matrix_efficiency;
  const char* inside;
  double inside_bytes_per_s;  // one direction
};

/// PyTorch without CUDA graphs. What counts as one kernel here is two or three there: a layer of
/// GPT takes its host about half a millisecond.
constexpr Seconds kLaunch{30e-6};

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kGB = 1'000'000'000;

// Facts: NVIDIA's data sheets (V100 2020, A100 2021, H100 2023, H200 2024, HGX B200 2025, L40S
// 2023) and the Ada architecture's white paper (RTX 4090). NVLink is sold by the sum of both
// directions; half of that stands here. Of PCIe 4.0 x16, 32 GB/s a direction.
//
// The part of the peak that large products reach in training: of the B200, measured by SimuMax
// (configs/system/b200_bf16_ceperm.json: 0.45 to 0.51, limited by power); of the A100, so that a
// block of Llama-2-7B reaches the 60 to 65 % of published runs; of the H100, what leaves the 41 to
// 48 % of Megatron-LM's own runs (its README) once communication and bubbles are paid; of the
// others, by the like.
constexpr std::array<Named, 8> kSheets{{
    {"a100-40g", "NVIDIA A100 40 GB", 40 * kGiB, 1.555e12, 312e12, 19.5e12, 0.70, "nvlink", 300e9},
    {"a100-80g", "NVIDIA A100 80 GB", 80 * kGiB, 2.039e12, 312e12, 19.5e12, 0.70, "nvlink", 300e9},
    {"b200", "NVIDIA B200", 180 * kGB, 7.7e12, 2250e12, 75e12, 0.47, "nvlink", 900e9},
    {"h100-sxm", "NVIDIA H100 SXM", 80 * kGiB, 3.35e12, 989e12, 67e12, 0.60, "nvlink", 450e9},
    {"h200", "NVIDIA H200", 141 * kGB, 4.8e12, 989e12, 67e12, 0.60, "nvlink", 450e9},
    {"l40s", "NVIDIA L40S", 48 * kGB, 0.864e12, 362e12, 91.6e12, 0.70, "pcie", 32e9},
    {"rtx4090", "NVIDIA RTX 4090", 24 * kGiB, 1.008e12, 165e12, 82.6e12, 0.85, "pcie", 32e9},
    {"v100-32g", "NVIDIA V100 32 GB", 32 * kGiB, 0.9e12, 125e12, 15.7e12, 0.70, "nvlink", 150e9},
}};

DeviceSheet sheet_of(const Named& row) {
  const bool nvlink = std::string_view(row.inside) == "nvlink";
  return {
      .name = row.name,
      .memory = Bytes{row.memory_bytes},
      .memory_bandwidth = {row.memory_bytes_per_s},
      .half_flops_per_s = row.half_flops_per_s,
      .float32_flops_per_s = row.float32_flops_per_s,
      .matrix_efficiency = row.matrix_efficiency,
      .kernel_overhead = Seconds(2e-6),
      .launch = kLaunch,
      .devices_per_node = 8,
      .inside = {.name = row.inside,
                 .latency = Seconds(nvlink ? 5e-6 : 15e-6),
                 .bandwidth = {row.inside_bytes_per_s}},
      // What a cluster's network is, no device's sheet says: 400 Gb/s a device is today's usual.
      .between = {
          .name = "infiniband", .latency = Seconds(10e-6), .bandwidth = {50e9}, .efficiency = 0.9}};
}

}  // namespace

std::vector<std::string> data_sheet_names() {
  std::vector<std::string> names;
  names.reserve(kSheets.size());
  for (const Named& row : kSheets) names.emplace_back(row.key);
  return names;
}

DeviceSheet find_data_sheet(const std::string& name_or_path) {
  const auto* found = std::find_if(kSheets.begin(), kSheets.end(),
                                   [&](const Named& row) { return row.key == name_or_path; });
  if (found != kSheets.end()) return sheet_of(*found);
  std::error_code unreadable;
  if (name_or_path == "-" || std::filesystem::exists(name_or_path, unreadable)) {
    return load_device_sheet(name_or_path);
  }
  const std::vector<std::string> names = data_sheet_names();
  const auto near = nearest_word(name_or_path, names);
  throw Error(Failure::kBadInput,
              fmt::format("device {}: neither a known device nor a file", name_or_path),
              near ? fmt::format("did you mean {}?", *near)
                   : fmt::format("known devices: {}; or write a device.yaml of one's own",
                                 fmt::join(names, ", ")));
}

}  // namespace ppplan::profiler
