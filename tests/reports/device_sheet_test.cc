#include "reports/documents/device_sheet.h"

#include "profiler/estimate/data_sheets.h"
#include "tests/support/errors.h"
#include "tests/support/random_documents.h"

#include <doctest/doctest.h>

#include <string>

namespace {

using ppplan::DeviceSheet;
using ppplan::test::hint_of;
using ppplan::test::message_of;

std::string sheet() {
  return write_device_sheet(ppplan::profiler::find_data_sheet("h100-sxm"));
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = sheet();
  const std::size_t place = text.find(from);
  REQUIRE(place != std::string::npos);
  return text.replace(place, from.size(), to);
}

std::string refusal(const std::string& from, const std::string& to) {
  return message_of([&] { ppplan::read_device_sheet(changed(from, to), "d"); });
}

TEST_CASE("device sheet: every named and every random one comes back unchanged") {
  for (const std::string& name : ppplan::profiler::data_sheet_names()) {
    const DeviceSheet named = ppplan::profiler::find_data_sheet(name);
    CHECK(ppplan::read_device_sheet(write_device_sheet(named), "d") == named);
  }
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const DeviceSheet drawn = ppplan::test::RandomDocuments(seed).device_sheet();
    CHECK(ppplan::read_device_sheet(write_device_sheet(drawn), "d") == drawn);
  }
}

TEST_CASE("device sheet: values that would make times endless or absurd are refused with place") {
  CHECK(refusal("memory_bandwidth_bytes_per_s: 3", "memory_bandwidth_bytes_per_s: -3")
            .find("d:4:31: memory_bandwidth_bytes_per_s: expected") == 0);
  CHECK(refusal("memory_bandwidth_bytes_per_s: 3350000000000", "memory_bandwidth_bytes_per_s: 0") ==
        "d:4:31: memory_bandwidth_bytes_per_s: expected a number from 1e3 to 1e18, found 0");
  CHECK(refusal("half_flops_per_s: 989000000000000", "half_flops_per_s: 989")
            .find("half_flops_per_s: expected a finite number from") != std::string::npos);
  CHECK(refusal("matrix_efficiency: 0.", "matrix_efficiency: 10.")
            .find("matrix_efficiency: expected") != std::string::npos);
  CHECK(refusal("devices_per_node: 8", "devices_per_node: 0").find("from 1 to 65536, found 0") !=
        std::string::npos);
  CHECK(refusal("launch_s: ", "launch_s: -").find("launch_s: expected") != std::string::npos);
  CHECK(refusal("bandwidth_bytes_per_s: 450000000000", "bandwidth_bytes_per_s: .nan")
            .find("inside.bandwidth_bytes_per_s: expected") != std::string::npos);
  CHECK(refusal("between: ", "betwen: ").find("between: expected") != std::string::npos);
  CHECK(refusal("ppplan.device/1", "ppplan.profile/1") ==
        "d:1:9: schema: expected ppplan.device/1, found ppplan.profile/1");
}

}  // namespace
