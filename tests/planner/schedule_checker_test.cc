// What the checker refuses, and that lowering keeps its promise.
#include "planner/schedule/blocking.h"
#include "planner/schedule/checker.h"
#include "planner/schedule/generators.h"
#include "planner/schedule/lowering.h"
#include "planner/schedule/text.h"
#include "reports/documents/error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace ppplan::planner;

namespace {

Schedule made(const std::string& name, int rank_count, int micro_batch_count) {
  return std::get<Schedule>(
      make_schedule(name, {.rank_count = rank_count, .micro_batch_count = micro_batch_count}));
}

std::string fault_of(const Schedule& schedule) {
  const std::optional<ScheduleFault> fault = check(schedule);
  return fault ? fault->message : "";
}

}  // namespace

TEST_CASE("checker: an action missing, twice, or on the wrong rank is named") {
  const Schedule good = made("1f1b", 2, 2);
  CHECK(fault_of(good).empty());
  Schedule bad = good;
  bad.ranks[0].pop_back();
  CHECK(fault_of(bad) == "0B1 is missing");
  bad = good;
  bad.ranks[1].push_back(bad.ranks[1].front());
  CHECK(fault_of(bad) == "1F0: already stands before");
  bad = good;
  bad.ranks[1][0].stage = 0;
  CHECK(fault_of(bad) == "0F0: stage 0 stands on rank 0");
  bad = good;
  bad.ranks[1][0].micro_batch = 2;
  CHECK(fault_of(bad) == "1F2: no such stage or micro-batch");
}

TEST_CASE("checker: a backward before its forward, a weight gradient before its input gradient") {
  Schedule bad = made("1f1b", 1, 1);
  std::swap(bad.ranks[0][0], bad.ranks[0][1]);
  CHECK(fault_of(bad) == "0B0: stands before its forward");
  bad.ranks[0] = {{ActionKind::kForward, false, 0, 0},
                  {ActionKind::kBackwardWeight, false, 0, 0},
                  {ActionKind::kBackwardInput, false, 0, 0}};
  CHECK(fault_of(bad) == "0W0: stands before its input-gradient backward");
  bad.ranks[0][1].kind = ActionKind::kBackward;
  CHECK(fault_of(bad) == "0I0: a second backward: either B, or I and W");
}

TEST_CASE("checker: a cyclic order is a deadlock, told along its cycle") {
  Schedule bad = made("gpipe", 2, 2);
  bad.ranks[0] = {{ActionKind::kForward, false, 0, 0},
                  {ActionKind::kBackward, false, 0, 0},
                  {ActionKind::kForward, false, 0, 1},
                  {ActionKind::kBackward, false, 0, 1}};
  const std::string message = fault_of(bad);
  CHECK(message == "deadlock: 0B0 waits for 1B0 of rank 1, where 1F1 waits for 0F1 of rank 0");
}

TEST_CASE("checker: both ranks sending first is a deadlock when sends block") {
  // What 1F1B becomes when each receive stands right before its use.
  Schedule schedule = made("1f1b", 2, 2);
  using enum ActionKind;
  schedule.ranks[0] = {{kForward, false, 0, 0},         {kSendActivation, false, 0, 0},
                       {kForward, false, 0, 1},         {kSendActivation, false, 0, 1},
                       {kReceiveGradient, false, 0, 0}, {kBackward, false, 0, 0},
                       {kReceiveGradient, false, 0, 1}, {kBackward, false, 0, 1}};
  schedule.ranks[1] = {{kReceiveActivation, false, 1, 0}, {kForward, false, 1, 0},
                       {kBackward, false, 1, 0},          {kSendGradient, false, 1, 0},
                       {kReceiveActivation, false, 1, 1}, {kForward, false, 1, 1},
                       {kBackward, false, 1, 1},          {kSendGradient, false, 1, 1}};
  CHECK(fault_of(schedule) ==
        "1SEND_B0: rank 0 is at 0SEND_F1: both send and wait for the other to receive");
}

TEST_CASE("blocking sends: an exchange in which both send first stops, in even/odd order it runs") {
  // 1F1B, each send right after and each receive right before its action.
  const Schedule compute = made("1f1b", 2, 2);
  const auto as_written = check_blocking_sends(compute, Exchanges::kAsWritten);
  REQUIRE(as_written);
  CHECK(as_written->message ==
        "0SEND_F1: rank 1 is at 1SEND_B0: both send and wait for the other to receive");
  CHECK_FALSE(check_blocking_sends(compute, Exchanges::kEvenOdd));

  const char* both_send =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
  const char* odd_receives_first =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1B0,1RECV_F1,1SEND_B0,1F1,1B1,1SEND_B1\n";
  try {
    from_csv(both_send, "s.csv");
    FAIL("not refused");
  } catch (const ppplan::Error& error) {
    CHECK(
        std::string(error.what()).starts_with("s.csv:2:4: 1SEND_B0: rank 0 is at 0SEND_F1: both"));
    CHECK(error.hint().find("even ranks send before they receive") != std::string::npos);
  }
  const Schedule lowered = from_csv(odd_receives_first, "s.csv");
  CHECK_FALSE(check_blocking_sends(lowered, Exchanges::kAsWritten));
  CHECK_FALSE(check_blocking_sends(lowered, Exchanges::kEvenOdd));
}

TEST_CASE("blocking sends: both ranks receiving first stops too, and even/odd order cures it") {
  Schedule lowered = from_csv(
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1B0,1RECV_F1,1SEND_B0,1F1,1B1,1SEND_B1\n",
      "s.csv");
  std::swap(lowered.ranks[0][3], lowered.ranks[0][4]);
  const auto fault = check_blocking_sends(lowered, Exchanges::kAsWritten);
  REQUIRE(fault);
  CHECK(fault->message.find("both wait for the other to send") != std::string::npos);
  CHECK_FALSE(check_blocking_sends(lowered, Exchanges::kEvenOdd));
}

TEST_CASE("blocking sends: what is no exchange of two ranks stays as it is written") {
  // Nobody sends to whom it receives from in between: all run beside their actions.
  for (const char* name : {"naive", "gpipe"}) {
    for (int rank_count = 1; rank_count <= 5; ++rank_count) {
      const Schedule schedule = made(name, rank_count, 6);
      CHECK_FALSE(check_blocking_sends(schedule, Exchanges::kAsWritten));
      CHECK_FALSE(check_blocking_sends(schedule, Exchanges::kEvenOdd));
    }
  }
  for (int rank_count = 2; rank_count <= 9; ++rank_count) {
    const Schedule schedule = made("1f1b", rank_count, 12);
    CHECK(check_blocking_sends(schedule, Exchanges::kAsWritten));
    CHECK_FALSE(check_blocking_sends(schedule, Exchanges::kEvenOdd));
  }
}

TEST_CASE("blocking sends: a ring of three ranks that all send first is followed round") {
  // Stages 0 to 5 on ranks 0, 1, 2: each rank still sends its first stage on when its second one's
  // input is sent to it.
  const Schedule schedule = std::get<Schedule>(
      make_schedule("looped-bfs", {.rank_count = 3, .micro_batch_count = 6, .virtual_count = 2}));
  const auto fault = check_blocking_sends(schedule, Exchanges::kAsWritten);
  REQUIRE(fault);
  CHECK(fault->message.starts_with("deadlock: "));
  CHECK(check_blocking_sends(schedule, Exchanges::kEvenOdd));
  CHECK_FALSE(check_blocking_sends(with_communication(schedule), Exchanges::kAsWritten));
}

TEST_CASE("checker: sends and receives in different order are refused") {
  Schedule schedule = with_communication(made("gpipe", 2, 2));
  CHECK(fault_of(schedule).empty());
  const auto first_receive = [&](int micro_batch) {
    return std::ranges::find(schedule.ranks[1],
                             Action{ActionKind::kReceiveActivation, false, 1, micro_batch});
  };
  std::iter_swap(first_receive(0), first_receive(1));
  std::iter_swap(std::ranges::find(schedule.ranks[1], Action{ActionKind::kForward, false, 1, 0}),
                 std::ranges::find(schedule.ranks[1], Action{ActionKind::kForward, false, 1, 1}));
  CHECK(fault_of(schedule).find("not in the same order") != std::string::npos);
}

TEST_CASE("checker: counts that do not fit the actions are refused before memory is taken") {
  Schedule schedule = made("gpipe", 2, 2);
  schedule.micro_batch_count = 2'000'000'000;
  CHECK(fault_of(schedule) == "8 actions cannot serve 2 stages and 2000000000 micro-batches");
  schedule = made("gpipe", 2, 2);
  schedule.rank_of_stage[1] = 7;
  CHECK(fault_of(schedule) == "a stage stands on rank 7, which is none");
  CHECK_FALSE(fault_of(Schedule{}).empty());
}

TEST_CASE("lowering: every schedule runs when sends block") {
  for (const std::string& name : schedule_names()) {
    for (int rank_count = 1; rank_count <= 6; ++rank_count) {
      for (int micro_batch_count = 1; micro_batch_count <= 13; ++micro_batch_count) {
        CAPTURE(name);
        CAPTURE(rank_count);
        CAPTURE(micro_batch_count);
        const auto result = make_schedule(
            name,
            {.rank_count = rank_count, .micro_batch_count = micro_batch_count, .virtual_count = 2});
        if (const Schedule* schedule = std::get_if<Schedule>(&result)) {
          CHECK(fault_of(*schedule) == "");
          const Schedule lowered = with_communication(*schedule);
          CHECK(fault_of(lowered) == "");
        }
      }
    }
  }
}

TEST_CASE("lowering: what has communication already stays as it is") {
  const Schedule lowered = with_communication(made("1f1b", 3, 4));
  CHECK(with_communication(lowered) == lowered);
}

TEST_CASE("lowering: neighbours exchange in even/odd order") {
  const Schedule lowered = with_communication(made("1f1b", 3, 4));
  const std::vector<std::string> lines = to_lines(lowered);
  CHECK(lines[0].find("0SEND_F3,0RECV_B1") != std::string::npos);
  CHECK(lines[1].find("1RECV_F3,1SEND_B1") != std::string::npos);
}
