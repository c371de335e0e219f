#include "profiler/environment/findings.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace ppplan::profiler {
namespace {

WorkerVersions cuda_worker() {
  WorkerVersions versions;
  versions.torch = "2.11.0+cu130";
  versions.cuda_runtime = "13.0";
  return versions;
}

/// A machine on which all is well.
MachineFacts good_machine() {
  MachineFacts facts;
  facts.worker = cuda_worker();
  facts.cores = {
      .logical = {0, 1}, .physical = {0, 1}, .machine_count = 2, .quota = 2.0, .name = "x"};
  facts.memory = {.total = Bytes{8LL << 30}, .available = Bytes{6LL << 30}};
  facts.network.host_name = "host";
  facts.network.host_addresses = {"10.0.0.5"};
  facts.network.host_interface = "eth0";
  facts.network.interfaces = {"eth0", "lo"};
  facts.limits = {.open_files = 20000, .shared_memory = Bytes{1LL << 30}, .disk = Bytes{9LL << 30}};
  return facts;
}

Finding finding(const MachineFacts& facts, const std::string& name) {
  const std::vector<Finding> all = examine(facts);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Finding& one) { return one.name == name; });
  REQUIRE(found != all.end());
  return *found;
}

TEST_CASE("doctor: a CPU machine with a CUDA build is healthy") {
  for (const Finding& one : examine(good_machine())) {
    CAPTURE(one.name);
    CHECK(one.health == (one.name == "GPU driver" ? Health::kNone : Health::kOk));
    CHECK(one.fix.empty());
    CHECK_FALSE(one.blocks_cpu_run);
  }
  CHECK(finding(good_machine(), "GPU driver").detail == "no NVIDIA device: runs on the CPU");
}

TEST_CASE("doctor: CUPTI's number is spelled out, its older counter is not") {
  CHECK(cupti_version("130001") == "13.0.1");
  CHECK(cupti_version("131200") == "13.12.0");
  CHECK(cupti_version("26") == "26");
  CHECK(cupti_version("13.0.48") == "13.0.48");
}

TEST_CASE("doctor: a device without a usable driver is an error, but the CPU still serves") {
  MachineFacts facts = good_machine();
  facts.gpu.pci_device_count = 1;
  facts.gpu.problem = "Driver Not Loaded";
  const Finding found = finding(facts, "GPU driver");
  CHECK(found.health == Health::kError);
  CHECK(found.detail.find("Driver Not Loaded") != std::string::npos);
  CHECK_FALSE(found.fix.empty());
  CHECK_FALSE(found.blocks_cpu_run);
}

TEST_CASE("doctor: driver and CUDA runtime must suit each other") {
  MachineFacts facts = good_machine();
  facts.gpu.gpus = {{.name = "G", .uuid = "GPU-1", .memory = Bytes{1}}};
  facts.gpu.driver = "535.1";
  facts.gpu.cuda = "12.2";
  CHECK(finding(facts, "GPU driver").health == Health::kError);
  facts.gpu.cuda = "13.2";
  CHECK(finding(facts, "GPU driver").health == Health::kOk);
  WorkerVersions cpu_build = cuda_worker();
  cpu_build.cuda_runtime.reset();
  facts.worker = cpu_build;
  CHECK(finding(facts, "GPU driver").health == Health::kError);
  WorkerVersions blind = cuda_worker();
  blind.cuda_error = "no CUDA-capable device is detected";
  facts.worker = blind;
  CHECK(finding(facts, "GPU driver").health == Health::kError);
}

TEST_CASE("doctor: refused counters name both cures") {
  MachineFacts facts = good_machine();
  facts.counters.admin_only = true;
  const Finding found = finding(facts, "GPU counters");
  CHECK(found.health == Health::kWarning);
  CHECK(found.fix.find("NVreg_RestrictProfilingToAdminUsers=0") != std::string::npos);
  CHECK(found.fix.find("SYS_ADMIN") != std::string::npos);
}

TEST_CASE("doctor: what the main job cannot do without blocks it") {
  MachineFacts facts = good_machine();
  facts.worker = WorkerProblem{.message = "no worker", .hint = "build it"};
  CHECK(finding(facts, "LibTorch").blocks_cpu_run);
  facts = good_machine();
  facts.network.loopback_problem = "127.0.0.1 cannot be bound";
  CHECK(finding(facts, "loopback").blocks_cpu_run);
  facts = good_machine();
  facts.memory.available = Bytes{1LL << 30};
  CHECK(finding(facts, "memory").blocks_cpu_run);
}

TEST_CASE("doctor: the interface for several hosts is checked, with Gloo's own syntax") {
  MachineFacts facts = good_machine();
  facts.gloo_interface = "eth0";
  CHECK(finding(facts, "interface").health == Health::kOk);
  facts.gloo_interface = "^lo";
  CHECK(finding(facts, "interface").detail.find("NCCL's") != std::string::npos);
  facts.gloo_interface.reset();
  facts.network.host_interface.reset();
  const Finding found = finding(facts, "interface");
  CHECK(found.health == Health::kWarning);
  CHECK(found.detail == "host name host resolves to 10.0.0.5, which this machine does not hold");
  CHECK(found.fix.find("GLOO_SOCKET_IFNAME") != std::string::npos);
}

TEST_CASE("doctor: versions are compared by their numbers") {
  CHECK(parse_version("13.0") == std::pair(13, 0));
  CHECK(parse_version("12.10.1") == std::pair(12, 10));
  CHECK_FALSE(parse_version("13"));
  CHECK_FALSE(parse_version("x.1"));
}

}  // namespace
}  // namespace ppplan::profiler
