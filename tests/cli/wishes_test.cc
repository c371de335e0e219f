#include "reports/documents/wishes.h"

#include "profiler/models/load.h"
#include "reports/documents/file.h"
#include "reports/documents/plan.h"
#include "tests/cli/program.h"
#include "tests/support/estimated_profile.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

namespace ppplan::cli {
namespace {

/// A profile of six layers on two nodes of two devices.
class Desk {
 public:
  Desk() {
    write("profile.yaml", write_profile(testing::estimated_profile(
                              testing::llama_of({.block_count = 4,
                                                 .hidden = 1024,
                                                 .head_count = 8,
                                                 .feed_forward = 2048,
                                                 .vocabulary = 8192}),
                              {.cluster = {2, 2}, .micro_batches = {1, 2}, .sequences = {1024}})));
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] ProgramResult partition(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"partition", file("profile.yaml")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("wishes: each key pins what its option pins") {
  const Desk desk;
  desk.write("wishes.yaml",
             "device_map: {model.embed_tokens: 0, 1-2: 0}\npipeline_parallel_size: 2\n"
             "tensor_parallel_size: auto\ndata_parallel_size: 2\nmicro_batch_size: 1\n"
             "global_batch_size: 8\nmax_sequence_length: 1024\nmemory_pool: dynamic\n"
             "activation_checkpointing: false\nschedule: 1f1b\n");
  const ProgramResult result =
      desk.partition({"--config", desk.file("wishes.yaml"), "-o", desk.file("plan.yaml")});
  REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  const Plan plan = load_plan(desk.file("plan.yaml"));
  CHECK(plan.ranks.size() == 2);
  CHECK(plan.layout.data_parallel == 2);
  CHECK(plan.micro_batch == 1);
  CHECK(plan.schedule == "1f1b");
  CHECK(plan.constraints.sequence == 1024);
  CHECK(plan.constraints.pins == std::vector<LayerPin>{{0, 0, 0}, {1, 2, 0}});
  CHECK(plan.stages[0].layer_count >= 3);
  CHECK(result.output.find("MFU") != std::string::npos);
}

TEST_CASE("wishes: the completed file gives the same plan again") {
  const Desk desk;
  desk.write("wishes.yaml", "pipeline_parallel_size: 2\n");
  const ProgramResult first =
      desk.partition({"--global-batch", "8", "--config", desk.file("wishes.yaml"), "-o",
                      desk.file("one.yaml"), "--write-config", desk.file("all.yaml")});
  REQUIRE_MESSAGE(first.exit_code == 0, first.errors);
  const std::string completed = read_file(desk.file("all.yaml"));
  CHECK(completed.starts_with("# completed by ppplan"));
  CHECK(completed.find("one.yaml") < completed.find('\n'));
  const ProgramResult again =
      desk.partition({"--config", desk.file("all.yaml"), "-o", desk.file("two.yaml"),
                      "--write-config", desk.file("again.yaml")});
  REQUIRE_MESSAGE(again.exit_code == 0, again.errors);
  const Plan one = load_plan(desk.file("one.yaml"));
  const Plan two = load_plan(desk.file("two.yaml"));
  CHECK(one.layout == two.layout);
  CHECK(one.stages == two.stages);
  CHECK(one.ranks == two.ranks);
  CHECK(one.micro_batches == two.micro_batches);
  CHECK(one.schedule == two.schedule);
  CHECK(one.recompute_chunk == two.recompute_chunk);
  CHECK(one.predicted == two.predicted);
  CHECK(load_wishes(desk.file("again.yaml")) == load_wishes(desk.file("all.yaml")));
}

TEST_CASE("wishes: an option that contradicts the file is refused, naming both") {
  const Desk desk;
  desk.write("wishes.yaml", "global_batch_size: 8\npipeline_parallel_size: 2\n");
  const std::vector<std::string> asked{"--config", desk.file("wishes.yaml"), "--stages"};
  const auto with_stages = [&](const std::string& count) {
    std::vector<std::string> arguments = asked;
    arguments.push_back(count);
    return desk.partition(arguments);
  };
  const ProgramResult refused = with_stages("3");
  CHECK(refused.exit_code == 2);
  CHECK(refused.errors.find("--stages 3") != std::string::npos);
  CHECK(refused.errors.find("pipeline_parallel_size: 2") != std::string::npos);
  CHECK(with_stages("2").exit_code == 0);
}

TEST_CASE("wishes: a layer that the model has not is refused, saying which there are") {
  const Desk desk;
  desk.write("wishes.yaml", "global_batch_size: 8\ndevice_map: {model.layer.1: 0}\n");
  const ProgramResult refused = desk.partition({"--config", desk.file("wishes.yaml")});
  CHECK(refused.exit_code == 2);
  CHECK(refused.errors.find("'model.layer.1'") != std::string::npos);
  CHECK(refused.errors.find("model.layers.1") != std::string::npos);
  CHECK(refused.errors.find("0 to 5") != std::string::npos);
}

TEST_CASE("sweep: a row a number of devices, the same every time") {
  const Desk desk;
  const std::vector<std::string> asked{"--global-batch", "8",       "--sweep-devices",
                                       "1..4",           "--price", "2.5",
                                       "--schedule",     "1f1b",    "--json"};
  const ProgramResult result = desk.partition(asked);
  REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  const ParsedFile parsed = parse_json(result.output, "output");
  const std::vector<Fields> points = Fields(parsed, parsed.root).maps("points");
  REQUIRE(points.size() == 3);
  CHECK(points[0].integer("devices") == 1);
  CHECK(points[2].integer("devices") == 4);
  CHECK(points[0].number("speedup") == 1.0);
  CHECK(points[2].number("speedup") > 1.0);
  CHECK(points[1].number("dollars_per_billion_tokens") ==
        doctest::Approx(2.5 / 3600.0 * points[1].number("used_devices") /
                        points[1].number("tokens_per_s") * 1e9));
  CHECK(desk.partition(asked).output == result.output);
}

TEST_CASE("sweep: a number that has no plan says so in its row; ranges are checked") {
  const Desk desk;
  const ProgramResult result =
      desk.partition({"--global-batch", "8", "--stages", "2", "--sweep-devices", "1,2"});
  REQUIRE_MESSAGE(result.exit_code == 0, result.errors);
  CHECK(result.output.find("no plan fits") != std::string::npos);
  CHECK(result.output.find("on 1: ") != std::string::npos);
  for (const char* range : {"8..4", "3..3", "0..4", "1,,2", "x", "4.."}) {
    CHECK(desk.partition({"--global-batch", "8", "--sweep-devices", range}).exit_code == 2);
  }
  CHECK(desk.partition({"--global-batch", "8", "--sweep-devices", "1,2", "--devices", "2"})
            .exit_code == 2);
}

}  // namespace ppplan::cli
