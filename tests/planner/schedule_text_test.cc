// Schedules as text: round trips, and what is refused at which cell.
#include "planner/schedule/generators.h"
#include "planner/schedule/lowering.h"
#include "planner/schedule/text.h"
#include "reports/documents/error.h"

#include <doctest/doctest.h>

#include <string>

using namespace ppplan;
using namespace ppplan::planner;

namespace {

std::string refusal_of(const std::string& text) {
  try {
    from_csv(text, "s.csv");
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::kBadInput);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("text: a schedule reads back as it was written") {
  Schedule schedule =
      std::get<Schedule>(make_schedule("1f1b", {.rank_count = 3, .micro_batch_count = 4}));
  CHECK(to_lines(schedule)[2] == "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3");
  schedule.name = "custom";
  CHECK(from_csv(to_csv(schedule), "s.csv") == schedule);
  const Schedule lowered = with_communication(schedule);
  CHECK(to_lines(lowered)[0].starts_with("0F0,0SEND_F0,0F1,0SEND_F1,"));
  CHECK(from_csv(to_csv(lowered), "s.csv") == lowered);
}

TEST_CASE("text: overlapped pairs, idle cells, sharding actions and line ends are understood") {
  const Schedule schedule =
      from_csv("0UNSHARD,0F0, ,(0F1;0I0)OVERLAP_F_B,0W0,,0B1,0RESHARD\r\n", "s.csv");
  REQUIRE(schedule.ranks[0].size() == 5);
  CHECK(schedule.ranks[0][1] == Action{ActionKind::kForward, true, 0, 1});
  CHECK(schedule.ranks[0][2] == Action{ActionKind::kBackwardInput, false, 0, 0});
  CHECK(to_csv(schedule) == "0F0,(0F1;0I0)OVERLAP_F_B,0W0,0B1\n");
}

TEST_CASE("text: what is no action is refused with its row and column") {
  for (const char* cell :
       {"0F1garbage", "F1", "0F", "0X1", "-1F0", "0F-1", "0 F1", "99999999999F0", "0f1",
        "(0F1;0B0)", "(0F1;0B0)OVERLAP_F_Bx", "(0B0;0F1)OVERLAP_F_B", "(0F1)OVERLAP_F_B",
        "(0F1;0B0", "0F1;0B0", "0SEND_F", "+0F1", "0UNSHARD1", "\xff\xfe"}) {
    CAPTURE(cell);
    const std::string message = refusal_of("0F0,0B0," + std::string(cell) + "\n");
    CHECK(message.starts_with("s.csv:1:3: expected an action such as 2F5, found '"));
  }
}

TEST_CASE("text: what cannot be printed is shown by its bytes") {
  CHECK(refusal_of("0F0,0B0\r1F0,1B0") ==
        "s.csv:1:2: expected an action such as 2F5, found '0B0\\x0d1F0'");
  CHECK(refusal_of(std::string("0F0\0", 4)) ==
        "s.csv:1:1: expected an action such as 2F5, found '0F0\\x00'");
  CHECK(refusal_of("\"0F0\"") == "s.csv:1:1: expected an action such as 2F5, found '\"0F0\"'");
  CHECK(refusal_of(std::string(1'000'000, '(')).size() < 120);
  for (const char* mark : {"\xEF\xBB\xBF", "\xFF\xFE", "\xFE\xFF"}) {
    CHECK(refusal_of(mark + std::string("0F0,0B0")).ends_with("found a byte order mark"));
  }
}

TEST_CASE("text: a hundred thousand micro-batches read back, a million and one ranks are refused") {
  std::string text;
  for (int micro_batch = 0; micro_batch < 100'000; ++micro_batch) {
    const std::string number = std::to_string(micro_batch);
    text += "0F" + number + ",0B" + number + ",";
  }
  CHECK(from_csv(text, "s.csv").micro_batch_count == 100'000);
  text.clear();
  for (int rank = 0; rank <= 1'000'000; ++rank) text += "0F0\n";
  CHECK(refusal_of(text) == "s.csv:1000001:1: more than 1000000 ranks");
}

TEST_CASE("text: duplicates, gaps and strays are refused with their row and column") {
  CHECK(refusal_of("0F0,0B0,0F0") == "s.csv:1:3: 0F0: already stands before");
  CHECK(refusal_of("0F0,0B0,0F2,0B2") == "s.csv:1:4: 0F1 is missing");
  CHECK(refusal_of("0F0,0B0\n2F0,2B0").starts_with("s.csv:1:1: stage 1 has no action"));
  CHECK(refusal_of("0F0,0B0\n0F1,0B1") == "s.csv:2:1: 0F1: stage 0 already stands on rank 0");
  CHECK(refusal_of("0F0,0B0\n\n1F0,1B0").starts_with("s.csv:2:1: expected this rank's actions"));
  CHECK(refusal_of("0F0,0B2000000000").starts_with("s.csv:1:2: 0B2000000000 leaves a gap"));
  CHECK(refusal_of("0B0,0F0") == "s.csv:1:1: 0B0: stands before its forward");
  CHECK(refusal_of("").starts_with("s.csv:1:1: "));
  CHECK(refusal_of("\n\n").starts_with("s.csv:1:1: "));
}
