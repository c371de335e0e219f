// ppplan partition --lengths as its users call it.
#include "profiler/models/load.h"
#include "reports/documents/node.h"
#include "reports/documents/plan.h"
#include "tests/cli/program.h"
#include "tests/support/attention_profile.h"
#include "tests/support/synthetic_profile.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ppplan::cli {
namespace {

/// A profile of a real model of six layers on two devices, at made-up costs.
Profile small_profile(Bytes memory) {
  const auto config = std::filesystem::path(PPPLAN_TEST_ROOT).parent_path() /
                      "profiler/models/configs/smollm2-135m";
  const Model model = profiler::load_model(config, {.layer_count = 4}).model;
  Profile profile = testing::profile_of(model, {{}, {}, {}},
                                        {.device_count = 2,
                                         .device_memory = memory,
                                         .micro_batches = {1, 2, 4},
                                         .sequences = {64, 256, 1024},
                                         .latency_s = 1e-5,
                                         .bytes_per_s = 2e10});
  testing::set_attention_costs(profile);
  return profile;
}

/// The profile, and files of lengths.
class Folder {
 public:
  explicit Folder(Bytes memory = Bytes{std::int64_t{1} << 40}) {
    std::ofstream(file("profile.yaml")) << write_profile(small_profile(memory));
    std::ofstream lengths(file("lengths.txt"));
    std::ofstream table(file("lengths.csv"));
    table << "id,tokens\n";
    for (int sample = 0; sample < 200; ++sample) {
      const int length = sample % 9 == 0 ? 700 + sample : 20 + sample;
      lengths << length << '\n';
      table << "s" << sample << ',' << length << '\n';
    }
    std::ofstream(file("long.txt")) << "100\n2000\n";
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return (folder_ / name).string();
  }

  /// `ppplan partition` of the profile with these options.
  [[nodiscard]] ProgramResult partition(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {
        "partition", file("profile.yaml"), "--global-batch", "32", "--stages", "2", "--schedule",
        "1f1b"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("partition --lengths: compares the methods and writes the rule into the plan") {
  const Folder folder;
  const ProgramResult result =
      folder.partition({"--lengths", folder.file("lengths.txt"), "-o", folder.file("plan.yaml")});
  CAPTURE(result.errors);
  REQUIRE(result.exit_code == 0);
  CHECK(result.output.find("Micro-batches of samples of different lengths") != std::string::npos);
  CHECK(result.output.find("chosen") != std::string::npos);
  const Plan plan = load_plan(folder.file("plan.yaml"));
  REQUIRE(plan.batching);
  CHECK(plan.batching->longest == 898);
  CHECK(plan.constraints.sequence == 898);
  CHECK(plan.batching->compared.size() == 4);
  CHECK(plan.batching->sampled_batches == 50);
}

TEST_CASE("partition --lengths: a table's column gives the same plan") {
  const Folder folder;
  const auto json = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--json", "--sampled-batches", "5"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = folder.partition(words);
    CAPTURE(result.errors);
    CHECK(result.exit_code == 0);
    return result.output;
  };
  const std::string output = json({"--lengths", folder.file("lengths.txt")});
  CHECK(output == json({"--lengths", folder.file("lengths.csv"), "--lengths-column", "tokens"}));
  const ParsedFile parsed = parse_json(output, "output");
  const Fields batching = Fields(parsed, parsed.root).map("batching");
  CHECK(batching.maps("compared").size() == 4);
  CHECK(batching.count("sampled_batches") == 5);
}

TEST_CASE("partition --lengths: a method, a budget and a longest sample can be asked for") {
  const Folder folder;
  const auto planned = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"--lengths", folder.file("long.txt"), "-o",
                                      folder.file("plan.yaml")};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult result = folder.partition(words);
    CAPTURE(result.errors);
    REQUIRE(result.exit_code == 0);
    return *load_plan(folder.file("plan.yaml")).batching;
  };
  const Batching packed =
      planned({"--batching", "packed", "--max-tokens", "2048", "--max-sequence-length", "1000"});
  CHECK(packed.method == BatchingMethod::kPacked);
  CHECK(packed.max_tokens == 2048);
  CHECK(packed.longest == 1000);
  CHECK(packed.cut_samples == 1);
}

TEST_CASE("partition --lengths: bad input is exit 2 and says what to do") {
  const Folder folder;
  const auto said = [&](const std::vector<std::string>& words) {
    const ProgramResult result = folder.partition(words);
    CHECK(result.exit_code == 2);
    return result.errors;
  };
  CHECK(said({"--lengths", folder.file("long.txt")}).find("--max-sequence-length 1024") !=
        std::string::npos);
  CHECK(said({"--lengths", folder.file("lengths.csv")}).find("lengths.csv:1:4: ") !=
        std::string::npos);
  CHECK(said({"--max-tokens", "5"}).find("--max-tokens needs --lengths") != std::string::npos);
  CHECK(said({"--lengths", folder.file("lengths.txt"), "--batching", "magic"}).find("magic") !=
        std::string::npos);
  CHECK(said({"--lengths", folder.file("absent.txt")}).find("absent.txt") != std::string::npos);
}

TEST_CASE("partition --lengths: what does not fit is exit 3 and names the rank and the bytes") {
  const Folder folder(Bytes{std::int64_t{700} << 20});
  const ProgramResult result =
      folder.partition({"--lengths", folder.file("lengths.txt"), "--batching", "padded",
                        "--max-tokens", "4096", "-o", folder.file("plan.yaml")});
  CAPTURE(result.errors);
  CHECK(result.exit_code == 3);
  CHECK(result.errors.find("with padded batching of 4 samples rank ") != std::string::npos);
  CHECK(result.errors.find("bytes too many") != std::string::npos);
  CHECK(!std::filesystem::exists(folder.file("plan.yaml")));
}

}  // namespace ppplan::cli
