#include "profiler/environment/gpu.h"

#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

namespace ppplan::profiler {
namespace {

using test::TemporaryFolder;

TEST_CASE("gpus: none where neither the bus nor a driver has one") {
  const TemporaryFolder root;
  const GpuFacts facts = read_gpus("libppplan-no-such-library.so.1", root.path());
  CHECK(facts.pci_device_count == 0);
  CHECK(facts.gpus.empty());
  CHECK(facts.problem == "libppplan-no-such-library.so.1 is not installed");
}

TEST_CASE("gpus: display and compute devices of NVIDIA are counted, others are not") {
  const TemporaryFolder root;
  const std::string devices = "sys/bus/pci/devices/";
  root.write(devices + "0000:01:00.0/vendor", "0x10de\n");
  root.write(devices + "0000:01:00.0/class", "0x030200\n");
  root.write(devices + "0000:01:00.1/vendor", "0x10de\n");
  root.write(devices + "0000:01:00.1/class", "0x040300\n");  // its sound
  root.write(devices + "0000:02:00.0/vendor", "0x8086\n");
  root.write(devices + "0000:02:00.0/class", "0x030000\n");
  CHECK(read_gpus("libppplan-no-such-library.so.1", root.path()).pci_device_count == 1);
}

TEST_CASE("gpus: a library that is not NVML is told") {
  const TemporaryFolder root;
  CHECK(read_gpus("libm.so.6", root.path()).problem == "libm.so.6 is too old");
}

TEST_CASE("gpus: are told by UUID, and a lost one with its reason") {
  const TemporaryFolder root;
  const GpuFacts facts = read_gpus(PPPLAN_FAKE_NVML, root.path());
  CHECK(facts.driver == "580.65.06");
  CHECK(facts.cuda == "13.2");
  REQUIRE(facts.gpus.size() == 1);
  CHECK(facts.gpus[0].name == "Pretend GPU");
  CHECK(facts.gpus[0].uuid == "GPU-00000000-0000-0000-0000-000000000001");
  CHECK(facts.gpus[0].memory == Bytes{8LL << 30});
  CHECK(facts.problem == "device 1: GPU is lost");
}

TEST_CASE("gpu counters: the driver's option and our capability are read") {
  const TemporaryFolder root;
  CHECK_FALSE(read_counter_permission(root.path()).admin_only);
  root.write("proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n");
  root.write("proc/self/status", "Name:\tx\nCapEff:\t0000000000200000\n");
  CHECK(read_counter_permission(root.path()).admin_only == true);
  CHECK(read_counter_permission(root.path()).system_administrator);
  root.write("proc/self/status", "CapEff:\t00000000a80425fb\n");
  CHECK_FALSE(read_counter_permission(root.path()).system_administrator);
}

}  // namespace
}  // namespace ppplan::profiler
