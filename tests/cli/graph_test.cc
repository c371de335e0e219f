// Graphs of other planners on the command line: import, then partition by their rules.
#include "reports/documents/graph_profile.h"
#include "reports/documents/node.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ppplan::cli {
namespace {

const std::string kGraphText =
    "node1 -- Input -- forward_compute_time=9.000, backward_compute_time=0.000, "
    "activation_size=100.0, parameter_size=0.000\n"
    "node2 -- Conv2d(3, 8) -- forward_compute_time=2000.000, backward_compute_time=4000.000, "
    "activation_size=[50.0; 50.0], parameter_size=0.000\n"
    "node3 -- Linear(8, 2) -- forward_compute_time=1000.000, backward_compute_time=1000.000, "
    "activation_size=8.0, parameter_size=4000.000\n"
    "\tnode1 -- node2\n\tnode2 -- node3\n";

const std::string kGraphJson =
    R"({"maxSizePerFPGA": 1000, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [)"
    R"({"id": 1, "supportedOnFpga": 1, "cpuLatency": 90, "fpgaLatency": 3, "isBackwardNode": 0},)"
    R"({"id": 2, "supportedOnFpga": 1, "cpuLatency": 90, "fpgaLatency": 5, "isBackwardNode": 0}],)"
    R"( "edges": [{"sourceId": 1, "destId": 2, "cost": 0.5}]})";

ProgramResult partition(std::vector<std::string> words) {
  words.insert(words.begin(), "partition");
  return run_program(words);
}

}  // namespace

TEST_CASE("import: writes a profile that partition takes, as it takes the foreign file itself") {
  const test::TemporaryFolder folder;
  const std::string graph = folder.write("graph.txt", kGraphText).string();
  const std::string profile = (folder / "profile.yaml").string();
  const ProgramResult imported = run_program({"import", graph, "-o", profile});
  REQUIRE(imported.exit_code == 0);
  CHECK(imported.output == "pipedream: 3 nodes, 2 edges\n");
  for (const std::string& file : {profile, graph}) {
    const ProgramResult cut =
        partition({file, "--rules", "pipedream", "--devices", "4", "--bandwidth", "1000"});
    REQUIRE(cut.exit_code == 0);
    CHECK(cut.output.find("bottleneck 2000.000000 ms a mini-batch (2 s)") != std::string::npos);
    CHECK(cut.output.find("no contiguous cut is better") != std::string::npos);
  }
}

TEST_CASE("partition --rules: --json names every node of every stage") {
  const test::TemporaryFolder folder;
  const std::string graph = folder.write("graph.json", kGraphJson).string();
  const ProgramResult cut = partition({graph, "--rules", "max-load", "--json"});
  REQUIRE(cut.exit_code == 0);
  const ParsedFile parsed = parse_json(cut.output, "output");
  const Fields fields(parsed, parsed.root);
  CHECK(fields.number("bottleneck_s") == doctest::Approx(0.0055));
  CHECK(fields.boolean("exact"));
  CHECK(fields.integer("ideals") == 3);
  const std::vector<Fields> stages = fields.maps("stages");
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].texts("nodes") == std::vector<std::string>{"1"});
  CHECK(stages[1].texts("nodes") == std::vector<std::string>{"2"});
  CHECK(stages[1].boolean("binds"));
  CHECK(stages[1].number("receive_s") == doctest::Approx(0.0005));
}

TEST_CASE("partition --rules: machines of several devices, one bandwidth a level") {
  const test::TemporaryFolder folder;
  const std::string graph = folder.write("graph.txt", kGraphText).string();
  const ProgramResult cut = partition(
      {graph, "--rules", "pipedream", "--devices", "2x2", "--bandwidth", "1e6,1000", "--json"});
  REQUIRE(cut.exit_code == 0);
  CHECK(
      partition({graph, "--rules", "pipedream", "--devices", "2x2", "--bandwidth", "1e6"}).errors ==
      "error: --bandwidth: expected two numbers for --devices 2x2, found 1\n"
      "hint: one number a level, the inside of a machine first\n");
}

TEST_CASE("partition --rules: a memory that nothing fits exits with 3 and says why") {
  const test::TemporaryFolder folder;
  const std::string graph = folder.write("graph.txt", kGraphText).string();
  const ProgramResult cut = partition(
      {graph, "--rules", "max-load", "--devices", "2", "--bandwidth", "1e6", "--memory", "100"});
  CHECK(cut.exit_code == 3);
  CHECK(cut.errors.find("no device can take node node3") != std::string::npos);
}

TEST_CASE("partition --rules: what does not go together is refused with what does") {
  const test::TemporaryFolder folder;
  const std::string graph = folder.write("graph.txt", kGraphText).string();
  const std::string json = folder.write("graph.json", kGraphJson).string();
  const auto refused = [](const std::vector<std::string>& words, const std::string& with) {
    const ProgramResult result = partition(words);
    CHECK(result.exit_code == 2);
    CHECK(result.errors.find(with) != std::string::npos);
  };
  refused({graph, "--rules", "fast"}, "expected pipedream or max-load, found 'fast'");
  refused({graph, "--rules", "pipedream"}, "expected --devices");
  refused({graph, "--rules", "pipedream", "--devices", "2x2x2"}, "expected one or two levels");
  refused({graph, "--rules", "pipedream", "--devices", "0"}, "--devices: expected counts");
  refused({graph, "--rules", "pipedream", "--devices", "300x300"}, "--devices: expected counts");
  refused({graph, "--rules", "pipedream", "--devices", "2", "--bandwidth", "nan"}, "--bandwidth");
  refused({graph, "--rules", "pipedream", "--devices", "2", "--bandwidth", "1e308"},
          "from 1 to 1e18, found '1e308'");
  refused({graph, "--rules", "pipedream", "--devices", "2", "--cpus", "1"}, "--cpus does not go");
  refused({graph, "--rules", "max-load"}, "the file names no number of accelerators");
  refused({graph, "--rules", "max-load", "--devices", "2"}, "--bandwidth 1e9");
  refused({json, "--rules", "max-load", "--no-replication"}, "max-load never replicates");
  refused({json, "--rules", "pipedream", "--devices", "2"}, "use --rules max-load");
  refused({graph, "--rules", "pipedream", "--devices", "2", "-o", "plan.yaml"}, "goes with");
  refused({graph, "--bandwidth", "1e9", "--global-batch", "8"}, "--bandwidth needs --rules");
  refused({graph}, "--global-batch is required");
}

TEST_CASE("partition: a graph profile without --rules is told what it needs") {
  const test::TemporaryFolder folder;
  const std::string graph = folder.write("graph.txt", kGraphText).string();
  const std::string profile = (folder / "profile.yaml").string();
  REQUIRE(run_program({"import", graph, "-o", profile}).exit_code == 0);
  const ProgramResult result = partition({profile, "--global-batch", "8"});
  CHECK(result.exit_code == 2);
  CHECK(result.errors.find("a graph needs --rules") != std::string::npos);
}

}  // namespace ppplan::cli
