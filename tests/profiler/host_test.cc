#include "profiler/environment/host.h"

#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

namespace ppplan::profiler {
namespace {

using test::TemporaryFolder;

TEST_CASE("container limits: none without control groups") {
  const TemporaryFolder root;
  const ContainerLimits limits = read_container_limits(root.path());
  CHECK_FALSE(limits.cores);
  CHECK_FALSE(limits.memory);
}

TEST_CASE("container limits: version 2, the tightest level counts") {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "0::/outer/inner\n");
  root.write("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/outer/memory.max", "max\n");
  root.write("sys/fs/cgroup/outer/inner/memory.max", "1000\n");
  root.write("sys/fs/cgroup/outer/inner/memory.current", "900\n");
  root.write("sys/fs/cgroup/outer/inner/memory.stat", "anon 500\ninactive_file 300\n");
  const ContainerLimits limits = read_container_limits(root.path());
  CHECK(limits.cores == doctest::Approx(1.5));
  CHECK(limits.memory == Bytes{1000});
  CHECK(limits.memory_left == Bytes{400});
}

TEST_CASE("container limits: version 1, as seen inside a container") {
  const TemporaryFolder root;
  root.write("proc/self/cgroup",
             "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2000\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1500\n");
  const ContainerLimits limits = read_container_limits(root.path());
  CHECK(limits.cores == doctest::Approx(0.5));
  CHECK(limits.memory_left == Bytes{500});
}

TEST_CASE("container limits: version 1's largest number is no limit, nor is garbage") {
  const TemporaryFolder root;
  root.write("proc/self/cgroup", "4:memory:/../../etc\n3:cpu:/\nnonsense\n:::\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "zero\n");
  const ContainerLimits limits = read_container_limits(root.path());
  CHECK_FALSE(limits.cores);
  CHECK_FALSE(limits.memory);
}

TEST_CASE("cores: hyper-threads of one core stand side by side") {
  const TemporaryFolder root;
  for (const int core : {0, 1, 2, 3}) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(core) + "/topology/";
    root.write(folder + "physical_package_id", "0\n");
    root.write(folder + "core_id", std::to_string(core % 2) + "\n");
  }
  root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU 9000\n");
  const HostCores cores = read_cores({0, 1, 2, 3}, {}, root.path());
  CHECK(cores.logical == std::vector<int>{0, 2, 1, 3});
  CHECK(cores.physical == std::vector<int>{0, 0, 1, 1});
  CHECK(cores.quota == 4.0);
  CHECK(cores.name == "Test CPU 9000");
}

TEST_CASE("cores: without a topology every logical core is one of its own") {
  const TemporaryFolder root;
  const ContainerLimits limits{.cores = 1.5, .memory = {}, .memory_left = {}};
  const HostCores cores = read_cores({4, 6}, limits, root.path());
  CHECK(cores.physical == std::vector<int>{0, 1});
  CHECK(cores.quota == 1.5);
  CHECK(cores.name == "unknown");
}

TEST_CASE("memory: the container's limit bounds what is free") {
  const TemporaryFolder root;
  root.write("proc/meminfo", "MemTotal:  2048 kB\nMemFree: 10 kB\nMemAvailable:  1024 kB\n");
  CHECK(read_memory({}, root.path()).available == Bytes{1024 * 1024});
  const ContainerLimits limits{.cores = {}, .memory = Bytes{5000}, .memory_left = Bytes{700}};
  CHECK(read_memory(limits, root.path()).total == Bytes{5000});
  CHECK(read_memory(limits, root.path()).available == Bytes{700});
}

TEST_CASE("cores: this process may use at least one") {
  CHECK_FALSE(allowed_cores().empty());
}

}  // namespace
}  // namespace ppplan::profiler
