// ppplan profile --estimate, as its users call it.
#include "reports/documents/file.h"
#include "reports/documents/profile.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ppplan::cli {
namespace {

const std::string kModel =
    (std::filesystem::path(PPPLAN_TEST_ROOT).parent_path() / "profiler/models/configs/gpt2")
        .string();

ProgramResult estimate(std::vector<std::string> more) {
  std::vector<std::string> words{"profile", kModel};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

TEST_CASE("profile --estimate: writes a profile for the cluster, and shows it in short") {
  const test::TemporaryFolder folder;
  const std::string file = (folder / "profile.yaml").string();
  const ProgramResult result =
      estimate({"--estimate", "h100-sxm", "--cluster", "4x8", "--micro-batches", "2,1",
                "--sequence-lengths", "1024", "--tensor-parallel", "1,4", "-o", file});
  CHECK(result.exit_code == 0);
  CHECK(result.output.find("gpt2 on 32 x NVIDIA H100 SXM in 4 nodes: estimated") == 0);
  CHECK(result.output.find("link nvlink (inside nodes)") != std::string::npos);
  CHECK(result.errors.find("next: ppplan partition") != std::string::npos);
  const Profile profile = load_profile(file);
  CHECK(profile.origin == Origin::kEstimated);
  CHECK(profile.input_sha256 == sha256(read_file(kModel + "/config.json")));
  CHECK(profile.cluster == Cluster{4, 8});
  CHECK(profile.kernels.precision == "bfloat16");
  // Two degrees; embedding; block with nothing, attention, all, and in 256, 512 and 1024; head.
  CHECK(profile.measurements.size() == 2 * (2 + (5 + 6) + (3 + 4)));
}

TEST_CASE("profile --estimate: a device of one's own, and float32") {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "device.yaml") << R"(schema: ppplan.device/1
name: slow card
memory_bytes: 17179869184
memory_bandwidth_bytes_per_s: 3.0e+11
half_flops_per_s: 2.0e+13
float32_flops_per_s: 1.0e+13
kernel_overhead_s: 2.0e-06
launch_s: 1.0e-05
devices_per_node: 2
inside: {name: pcie, latency_s: 2.0e-05, bandwidth_bytes_per_s: 1.6e+10}
between: {name: ethernet, latency_s: 5.0e-05, bandwidth_bytes_per_s: 1.25e+09}
)";
  const std::string device = (folder / "device.yaml").string();
  const ProgramResult result =
      estimate({"--estimate", device, "--precision", "float32", "-o", "-"});
  CHECK(result.exit_code == 0);
  const Profile profile = read_profile(result.output, "p");
  CHECK(profile.devices.size() == 2);
  CHECK(profile.cluster == Cluster{1, 2});
  CHECK(profile.kernels.precision == "float32");
  CHECK(profile.optimizer.front().optimizer_state.count ==
        2 * profile.optimizer.front().parameters.count);
  CHECK(estimate({"--estimate", device, "-o", device}).errors.find("that is the device itself") !=
        std::string::npos);
}

TEST_CASE("profile --estimate: flags of measuring contradict it, and its own need it") {
  const auto said = [](const std::vector<std::string>& words) {
    const ProgramResult result = estimate(words);
    CHECK(result.exit_code == 2);
    return result.errors;
  };
  CHECK(said({"--estimate", "h200", "--workers", "4", "-o", "p"}).find("--estimate") !=
        std::string::npos);
  CHECK(said({"--estimate", "h200", "--row-budget", "4", "-o", "p"}).find("--row-budget") !=
        std::string::npos);
  CHECK(said({"--cluster", "2x8", "-o", "p"}).find("--estimate") != std::string::npos);
  CHECK(said({"--estimate", "h200", "--cluster", "2*8", "-o", "p"}) ==
        "error: --cluster: expected NODESxDEVICES, found 2*8\n"
        "hint: 128x8 is 128 nodes of 8 devices each\n");
  CHECK(said({"--estimate", "h200", "--cluster", "65536x65536", "-o", "p"})
            .find("--cluster: expected") != std::string::npos);
  CHECK(said({"--estimate", "h20", "-o", "p"})
            .find("device h20: neither a known device nor a file\nhint: did you mean h200?") !=
        std::string::npos);
  CHECK(said({"--estimate", "h200", "--tensor-parallel", "5", "-o", "p"})
            .find("tensor-parallel 5: does not divide the 2304 features of block") !=
        std::string::npos);
  CHECK(!std::filesystem::exists("p"));
}

}  // namespace
}  // namespace ppplan::cli
