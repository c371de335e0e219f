#include "planner/cost_table.h"

#include "tests/support/errors.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

#include <string>

namespace ppplan::planner {
namespace {

Profile two_sequences() {
  return testing::synthetic_profile(std::vector<testing::SyntheticLayer>(3),
                                    {.micro_batches = {1, 4}, .sequences = {128, 256}});
}

}  // namespace

TEST_CASE("cost table: measured sizes are taken as they are") {
  const CostTable table(two_sequences(), 128, 1);
  CHECK(table.micro_batches().least == 1);
  CHECK(table.micro_batches().most == 4);
  CHECK(table.layer(1, 4).forward.count() == doctest::Approx(3.25e-3));
  CHECK(table.layer(1, 4).saved == Bytes{4000});
}

TEST_CASE("cost table: between measured sizes and sequences costs are linear") {
  CHECK(CostTable(two_sequences(), 128, 1).layer(0, 2).forward.count() == doctest::Approx(1.75e-3));
  const CostTable between(two_sequences(), 192, 1);
  CHECK(between.layer(0, 2).forward.count() == doctest::Approx(1.5 * 1.75e-3));
  CHECK(between.layer(0, 2).output == Bytes{300});
}

TEST_CASE("cost table: beyond measured sequences there is no cost") {
  const std::string message = test::message_of([] { CostTable(two_sequences(), 512, 1); });
  CHECK(message.find("128 to 256") != std::string::npos);
  CHECK(test::hint_of([] { CostTable(two_sequences(), 512, 1); }).find("--sequence-lengths 512") !=
        std::string::npos);
}

TEST_CASE("cost table: rows measured with as many busy workers as ranks count, else the next") {
  Profile profile = testing::synthetic_profile(std::vector<testing::SyntheticLayer>(2),
                                               {.device_count = 4, .busy_slowdown = 2.0});
  const auto forward = [&](int rank_count) {
    return CostTable(profile, 128, rank_count).layer(0, 1).forward.count();
  };
  CHECK(forward(1) == doctest::Approx(1e-3));
  CHECK(forward(2) == doctest::Approx(2e-3));  // 4 is the next number that was measured
  CHECK(forward(4) == doctest::Approx(2e-3));
  CHECK(forward(64) == doctest::Approx(2e-3));  // further ranks stand on machines alike
  std::erase_if(profile.measurements,
                [](const Measurement& row) { return row.concurrent_workers > 1; });
  CHECK(forward(4) == doctest::Approx(1e-3));
}

TEST_CASE("cost table: a kind without rows is told by name") {
  Profile profile = two_sequences();
  std::erase_if(profile.measurements, [](const Measurement& row) { return row.kind == 1; });
  CHECK(test::message_of([&] { CostTable(profile, 128, 1); }).find("'kind1'") != std::string::npos);
  profile = two_sequences();
  profile.optimizer.clear();
  CHECK(test::message_of([&] { CostTable(profile, 128, 1); }).find("optimizer") !=
        std::string::npos);
}

}  // namespace ppplan::planner
