// The verb `ppplan schedule` as its users call it.
#include "reports/documents/node.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ppplan::cli {
namespace {

TEST_CASE("schedule: prints the order, the picture and the figures") {
  const ProgramResult result =
      run_program({"schedule", "gpipe", "--ranks", "2", "--micro-batches", "2"});
  CHECK(result.exit_code == 0);
  CHECK(result.output.find("rank 0: 0F0,0F1,0B0,0B1\n") != std::string::npos);
  CHECK(result.output.find("rank 1 │  F0F1B0══B1══    │\n") != std::string::npos);
  CHECK(result.output.find("makespan_s 9\n") != std::string::npos);
  CHECK(result.output.find("bubble 0.3333") != std::string::npos);
}

TEST_CASE("schedule: --json has the figures of the known schedule") {
  const ProgramResult result = run_program({"schedule", "interleaved-1f1b", "--ranks", "4",
                                            "--micro-batches", "8", "--virtual", "2", "--json"});
  REQUIRE(result.exit_code == 0);
  const ParsedFile file = parse_json(result.output, "output");
  const Fields fields(file, file.root);
  CHECK(fields.number("makespan_s") == doctest::Approx(28.5));
  CHECK(fields.numbers("in_flight") == std::vector<double>{5.5, 4.5, 3.5, 2.5});
  CHECK(fields.integers("sends") == std::vector<std::int64_t>{24, 32, 32, 24});
}

TEST_CASE("schedule: --csv-in checks and draws what --csv wrote") {
  const ProgramResult csv =
      run_program({"schedule", "dualpipe-v", "--ranks", "2", "--micro-batches", "4", "--csv"});
  REQUIRE(csv.exit_code == 0);
  const test::TemporaryFolder folder;
  const std::string path = folder.write("order.csv", csv.output).string();
  CHECK(run_program({"schedule", "--csv-in", path, "--csv"}).output == csv.output);
  CHECK(run_program({"schedule", "--csv-in", path}).output.find("custom: 2 ranks, 4 stages") == 0);
  folder.write("order.csv", csv.output + "0F1garbage\n");
  const ProgramResult refused = run_program({"schedule", "--csv-in", path});
  CHECK(refused.exit_code == 2);
  CHECK(refused.errors.find("order.csv:3:1: expected an action") != std::string::npos);
}

TEST_CASE("schedule: bad input ends with 2 and says what to do") {
  const std::vector<std::vector<std::string>> calls = {
      {"1f1b"},
      {"1f2b", "--ranks", "4", "--micro-batches", "8"},
      {"1f1b", "--ranks", "0", "--micro-batches", "8"},
      {"1f1b", "--ranks", "4096", "--micro-batches", "1000000"},
      {"1f1b", "--ranks", "99999999999", "--micro-batches", "1"},
      {"1f1b", "--ranks", "4", "--micro-batches", "8", "--times", "1,2"},
      {"1f1b", "--ranks", "4", "--micro-batches", "8", "--times", "1,1,1,1"},
      {"1f1b", "--ranks", "4", "--micro-batches", "8", "--times", "1,1,1,"},
      {"1f1b", "--ranks", "4", "--micro-batches", "8", "--times", ""},
      {"1f1b", "--ranks", "4", "--micro-batches", "8", "--transfer", "-1"},
      {"1f1b", "--ranks", "1000000000", "--micro-batches", "1"},
      {"interleaved-1f1b", "--ranks", "65536", "--micro-batches", "8", "--virtual", "65536"},
      {"1f1b", "--ranks", "4", "--micro-batches", "8", "--times", "1,nan,1"},
      {"1f1b", "--ranks", "4", "--micro-batches", "8", "--transfer", "inf"},
      {"1f1b", "--ranks", "4", "--micro-batches", "8", "--json", "--csv"},
      {"interleaved-1f1b", "--ranks", "4", "--micro-batches", "9", "--group", "3"},
      {"1f1b", "--ranks", "4", "--micro-batches", "8", "--csv-in", "x.csv"},
      {}};
  for (std::vector<std::string> call : calls) {
    call.insert(call.begin(), "schedule");
    const ProgramResult result = run_program(call);
    CHECK(result.exit_code == 2);
    CHECK(result.output.empty());
    CHECK(result.errors.find("error: ") == 0);
    CHECK(result.errors.find("hint: ") != std::string::npos);
  }
  const ProgramResult missing = run_program({"schedule", "--csv-in", "/nonexistent/x.csv"});
  CHECK(missing.exit_code == 2);
  CHECK(missing.errors.find("/nonexistent/x.csv") != std::string::npos);
}

}  // namespace
}  // namespace ppplan::cli
