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

TEST_CASE("schedule: --json tells where the time goes, what is held when, how sends may block") {
  // 1F1B, p = 2, m = 2, transfers of 0.5: rank 0 runs F0 [0,1] F1 [1,2] B0 [5,7] B1 [8,10], rank 1
  // F0 [1.5,2.5] B0 [2.5,4.5] F1 [4.5,5.5] B1 [5.5,7.5].
  const ProgramResult result = run_program(
      {"schedule", "1f1b", "--ranks", "2", "--micro-batches", "2", "--transfer", "0.5", "--json"});
  REQUIRE(result.exit_code == 0);
  const ParsedFile file = parse_json(result.output, "output");
  const Fields fields(file, file.root);
  CHECK(fields.number("makespan_s") == doctest::Approx(10));
  CHECK(fields.number("steady_period_s") == doctest::Approx(10));
  CHECK(fields.numbers("busy_s") == std::vector<double>{6, 6});
  CHECK(fields.numbers("exposed_communication_s") == std::vector<double>{1, 0.5});
  const Fields causes = fields.map("bubble_causes_s");
  CHECK(causes.number("fill") + causes.number("drain") == doctest::Approx(6));
  CHECK(causes.number("imbalance") == doctest::Approx(0));
  CHECK(causes.number("transfer") == doctest::Approx(2));
  const std::vector<Fields> held = fields.maps("in_flight_timeline");
  REQUIRE(held.size() == 2);
  CHECK(held[0].numbers("time_s") == std::vector<double>{0, 1, 7, 10});
  CHECK(held[0].numbers("in_flight") == std::vector<double>{1, 2, 1, 0});
  const Fields blocking = fields.map("blocking_sends");
  CHECK(blocking.map("ordered").boolean("runs"));
  CHECK_FALSE(blocking.map("as_written").boolean("runs"));
  CHECK(blocking.map("as_written").text("reason").find("both send") != std::string::npos);
  CHECK(blocking.map("even_odd").boolean("runs"));
}

TEST_CASE("schedule: one line says how sends may block") {
  const std::vector<std::string> call = {"schedule",        "1f1b", "--ranks", "2",
                                         "--micro-batches", "3"};
  CHECK(
      run_program(call).output.ends_with("blocking sends run as ppplan orders them (beside their "
                                         "actions: deadlock, even/odd: run)\n"));
  const test::TemporaryFolder folder;
  const std::string path =
      folder.write("s.csv", "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n").string();
  CHECK(run_program({"schedule", "--csv-in", path})
            .output.ends_with("blocking sends run as written (even/odd: run)\n"));
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
