#include "executor/launch/diagnosis.h"

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

namespace ppplan::launch {
namespace {

ProcessEnd exited(int code, double time_s = 0.0, std::string words = {}) {
  return {.exit_code = code,
          .signal = {},
          .stopped = false,
          .stderr_tail = std::move(words),
          .time = Seconds(time_s)};
}

ProcessEnd killed(int signal, double time_s = 0.0) {
  return {.exit_code = 0,
          .signal = signal,
          .stopped = false,
          .stderr_tail = {},
          .time = Seconds(time_s)};
}

ProcessEnd stopped() {
  return {
      .exit_code = 0, .signal = SIGTERM, .stopped = true, .stderr_tail = {}, .time = Seconds(0)};
}

RankFailure failure(std::string message, double time_s, bool caused_by_peer = false, int code = 1) {
  return {.rank = 0,
          .where = "stage 0, 0F1",
          .message = std::move(message),
          .hint = "try again",
          .exit_code = code,
          .time_s = time_s,
          .caused_by_peer = caused_by_peer};
}

TEST_CASE("diagnosis: a killed rank is the cause, though its peer was seen to fail before it") {
  const Error error = first_failure(
      {{.name = "rank 0",
        .process = exited(1, 1.0),
        .failure = failure("connection reset", 1.0, true)},
       {.name = "rank 1 (stage 1, layers 3-5)", .process = killed(SIGKILL, 1.2), .failure = {}}});
  CHECK(std::string(error.what()) ==
        "rank 1 (stage 1, layers 3-5) was killed by signal 9 (SIGKILL)");
  CHECK(error.hint().find("--memory") != std::string::npos);
  CHECK(error.failure() == Failure::kRuntime);
}

TEST_CASE(
    "diagnosis: even a failure that does not say it was the peer's is a consequence of SIGKILL") {
  const Error error = first_failure(
      {{.name = "rank 0", .process = exited(1, 1.0), .failure = failure("read failed", 1.0)},
       {.name = "rank 1", .process = killed(SIGKILL, 1.2), .failure = {}}});
  CHECK(std::string(error.what()).starts_with("rank 1 was killed"));
}

TEST_CASE("diagnosis: of two failures the earlier counts") {
  const Error error = first_failure(
      {{.name = "rank 0", .process = exited(1, 5.1), .failure = failure("late", 5.0)},
       {.name = "rank 1", .process = exited(2, 4.1), .failure = failure("early", 4.0, false, 2)},
       {.name = "rank 2", .process = killed(SIGABRT, 4.5), .failure = {}}});
  CHECK(std::string(error.what()) == "rank 1: stage 0, 0F1: early");
  CHECK(error.hint() == "try again");
  CHECK(error.failure() == Failure::kBadInput);
}

TEST_CASE("diagnosis: a worker that was told to stop is not to blame") {
  const Error error = first_failure(
      {{.name = "rank 0", .process = stopped(), .failure = {}},
       {.name = "rank 1", .process = exited(7, 9.0, "terminate called\n"), .failure = {}}});
  CHECK(std::string(error.what()) == "rank 1 ended with code 7 and left no reason");
  CHECK(error.hint() == "run 'ppplan doctor'; it wrote:\nterminate called");
}

TEST_CASE("diagnosis: of what a worker wrote only the end is shown, without control characters") {
  std::string words;
  for (int line = 0; line < 20; ++line) words += "line " + std::to_string(line) + "\x1b[0m\n";
  const Error error =
      first_failure({{.name = "rank 0", .process = exited(3, 0.0, words), .failure = {}}});
  CHECK(error.hint().find("line 11") == std::string::npos);
  CHECK(error.hint().find("wrote:\nline 12?[0m\n") != std::string::npos);
  CHECK(error.hint().ends_with("line 19?[0m"));
}

TEST_CASE("diagnosis: when all lost a peer, the first to notice is named") {
  const Error error = first_failure(
      {{.name = "rank 0", .process = exited(1), .failure = failure("reset by rank 1", 2.0, true)},
       {.name = "rank 1", .process = exited(1), .failure = failure("reset by rank 0", 1.0, true)}});
  CHECK(std::string(error.what()) == "rank 1: stage 0, 0F1: reset by rank 0");
}

}  // namespace
}  // namespace ppplan::launch
