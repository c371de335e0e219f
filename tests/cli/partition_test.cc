#include "profiler/models/load.h"
#include "reports/documents/node.h"
#include "reports/documents/plan.h"
#include "tests/cli/program.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ppplan::cli {
namespace {

/// A folder with the profile of a real model at made-up costs; goes away with it.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("ppplan_partition_test_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(path_);
    const auto config = std::filesystem::path(PPPLAN_TEST_ROOT).parent_path() /
                        "profiler/models/configs/smollm2-135m";
    const Model model = profiler::load_model(config, {.layer_count = 8}).model;
    const testing::SyntheticLayer embedding{.forward_s = 2e-4,
                                            .backward_s = 4e-4,
                                            .saved_bytes = 1024,
                                            .output_bytes = 294'912,
                                            .parameter_bytes = 113'246'208,
                                            .optimizer_s = 8e-3};
    const testing::SyntheticLayer block{.forward_s = 2e-3,
                                        .backward_s = 4e-3,
                                        .saved_bytes = 4'325'376,
                                        .output_bytes = 294'912,
                                        .parameter_bytes = 14'160'384,
                                        .optimizer_s = 1e-3};
    const testing::SyntheticLayer head{.forward_s = 1.1e-2,
                                       .backward_s = 2.2e-2,
                                       .saved_bytes = 25'755'648,
                                       .output_bytes = 0,
                                       .parameter_bytes = 113'248'512,
                                       .optimizer_s = 8e-3};
    const Profile profile = testing::profile_of(model, {embedding, block, head},
                                                {.device_count = 2,
                                                 .device_memory = Bytes{std::int64_t{4} << 30},
                                                 .latency_s = 2e-3,
                                                 .bytes_per_s = 1e9});
    std::ofstream(file("profile.yaml")) << write_profile(profile);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("partition: writes a plan that reads back, and shows it") {
  const Folder folder;
  const std::string output = folder.file("plan.yaml");
  const ProgramResult result = run_program({"partition", folder.file("profile.yaml"), "--stages",
                                            "2", "--global-batch", "8", "-o", output});
  REQUIRE(result.exit_code == 0);
  CHECK(result.errors.empty());
  CHECK(result.output.find("embedding, block") != std::string::npos);
  CHECK(result.output.find("worth it") != std::string::npos);
  const Plan plan = load_plan(output);
  CHECK(plan.stages.size() == 2);
  CHECK(plan.constraints.stage_count == 2);
  CHECK(plan.stages[0].layer_count > plan.stages[1].layer_count);  // the head weighs five blocks
}

TEST_CASE("partition: '-' writes the plan alone to standard output") {
  const Folder folder;
  const ProgramResult result =
      run_program({"partition", folder.file("profile.yaml"), "--global-batch", "8", "-o", "-"});
  REQUIRE(result.exit_code == 0);
  CHECK(read_plan(result.output, "-").micro_batches.size() > 0);
}

TEST_CASE("explain: says what binds, as text and as JSON, for the plan's own profile only") {
  const Folder folder;
  const std::string profile = folder.file("profile.yaml");
  const std::string plan = folder.file("plan.yaml");
  REQUIRE(run_program({"partition", profile, "--stages", "2", "--global-batch", "8", "-o", plan})
              .exit_code == 0);
  const ProgramResult text = run_program({"explain", plan, profile});
  REQUIRE(text.exit_code == 0);
  CHECK(text.errors.empty());
  CHECK(text.output.find("binds") != std::string::npos);
  CHECK(text.output.find("Megatron-LM") != std::string::npos);
  CHECK(text.output.find("a batch of 16") != std::string::npos);
  const ProgramResult json = run_program({"explain", plan, profile, "--json"});
  REQUIRE(json.exit_code == 0);
  const ParsedFile parsed = parse_json(json.output, "output");
  CHECK(Fields(parsed, parsed.root).maps("boundaries").size() == 1);

  std::ofstream(profile, std::ios::app) << "\n";
  const ProgramResult other = run_program({"explain", plan, profile});
  CHECK(other.exit_code == 2);
  CHECK(other.errors.find("made from another profile") != std::string::npos);
}

TEST_CASE("partition: --json is one JSON object") {
  const Folder folder;
  const ProgramResult result = run_program(
      {"partition", folder.file("profile.yaml"), "--stages", "2", "--global-batch", "8", "--json"});
  REQUIRE(result.exit_code == 0);
  const ParsedFile parsed = parse_json(result.output, "output");
  CHECK(Fields(parsed, parsed.root).maps("stages").size() == 2);
}

TEST_CASE("partition: several stages a rank, pins and made orders are written and read back") {
  const Folder folder;
  const std::string output = folder.file("plan.yaml");
  const std::vector<std::string> asked = {
      "partition", folder.file("profile.yaml"), "--stages", "2", "--global-batch", "8", "-o",
      output};
  const auto plan_with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = asked;
    arguments.insert(arguments.end(), more.begin(), more.end());
    REQUIRE(run_program(arguments).exit_code == 0);
    return load_plan(output);
  };
  const Plan looped =
      plan_with({"--schedule", "interleaved-1f1b", "--pin", "0-1=0", "--pin", "7=3"});
  CHECK(looped.stages.size() == 4);
  CHECK(looped.stages[2].rank == 0);
  CHECK(looped.constraints.pins == std::vector<LayerPin>{{0, 1, 0}, {7, 7, 3}});
  CHECK(plan_with({"--layer-counts", "4,6"}).stages[1].layer_count == 6);
  const Plan made = plan_with({"--schedule", "synthesized"});
  CHECK(made.schedule == "custom");
  CHECK(made.actions.size() == 2);
  std::vector<std::string> wrong = asked;
  wrong.insert(wrong.end(), {"--pin", "3"});
  const ProgramResult refused = run_program(wrong);
  CHECK(refused.exit_code == 2);
  CHECK(refused.errors.find("expected LAYER=STAGE") != std::string::npos);
}

TEST_CASE("partition: no plan fits: exit 3, the limit, a remedy, and nothing written") {
  const Folder folder;
  const std::string output = folder.file("plan.yaml");
  const ProgramResult result =
      run_program({"partition", folder.file("profile.yaml"), "--stages", "2", "--global-batch", "8",
                   "--memory", "300MiB", "-o", output});
  CHECK(result.exit_code == 3);
  CHECK(result.output.empty());
  CHECK(result.errors.find("300.0 MiB are allowed") != std::string::npos);
  CHECK(result.errors.find("--memory ") != std::string::npos);
  CHECK(!std::filesystem::exists(output));
}

TEST_CASE("partition: a bad size or profile is exit 2") {
  const Folder folder;
  CHECK(run_program(
            {"partition", folder.file("profile.yaml"), "--global-batch", "8", "--memory", "lots"})
            .exit_code == 2);
  CHECK(run_program({"partition", folder.file("absent.yaml"), "--global-batch", "8"}).exit_code ==
        2);
  CHECK(run_program({"partition", folder.file("profile.yaml"), "--global-batch", "-1"}).exit_code ==
        2);
}

}  // namespace ppplan::cli
