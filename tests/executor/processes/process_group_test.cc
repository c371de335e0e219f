#include "executor/launch/process_group.h"

#include "executor/launch/listening_socket.h"
#include "reports/documents/error.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace ppplan::launch {
namespace {

ProcessSpec fake(std::vector<std::string> acts) {
  acts.insert(acts.begin(), {PPPLAN_FAKE_WORKER, "act"});
  return {.command = std::move(acts), .inherited = {}};
}

GroupEnd watch(const std::vector<ProcessSpec>& specs, std::vector<std::string>* lines = nullptr,
               const WatchOptions& options = {}) {
  Interruption interruption;
  ProcessGroup group(specs);
  return group.wait(options, interruption, [&](int process, std::string_view line) {
    if (lines != nullptr) lines->push_back(std::to_string(process) + " " + std::string(line));
  });
}

bool exists(const std::string& process) {
  return ::kill(static_cast<pid_t>(std::stol(process)), 0) == 0;
}

TEST_CASE("process group: lines and codes of all arrive") {
  std::vector<std::string> lines;
  const GroupEnd end = watch({fake({"say", "one", "say", "two"}), fake({})}, &lines);
  CHECK(end.ending == GroupEnding::kFinished);
  CHECK(lines == std::vector<std::string>{"0 one", "0 two"});
  CHECK(end.processes[0].succeeded());
  CHECK(end.processes[1].succeeded());
}

TEST_CASE("process group: a program that is not there is named") {
  try {
    const ProcessGroup group({{.command = {"/nowhere/worker"}, .inherited = {}}});
    FAIL("it was started");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "cannot start /nowhere/worker: No such file or directory");
  }
}

TEST_CASE("process group: the first failure stops all others") {
  std::vector<std::string> lines;
  const GroupEnd end =
      watch({fake({"number", "hang"}), fake({"warn", "no space left", "exit", "7"})}, &lines,
            {.settle = Seconds(0.05), .grace = Seconds(1)});
  CHECK(end.ending == GroupEnding::kFailed);
  CHECK(end.processes[0].stopped);
  CHECK(end.processes[0].signal == SIGTERM);
  CHECK_FALSE(end.processes[1].stopped);
  CHECK(end.processes[1].exit_code == 7);
  CHECK(end.processes[1].stderr_tail == "no space left\n");
  CHECK_FALSE(exists(lines.at(0).substr(2)));
}

TEST_CASE("process group: a process deaf to SIGTERM is killed") {
  const GroupEnd end =
      watch({fake({"deaf", "say", "ready", "hang"}), fake({"sleep", "100", "raise", "9"})}, nullptr,
            {.settle = Seconds(0.05), .grace = Seconds(0.1)});
  CHECK(end.processes[0].signal == SIGKILL);
  CHECK(end.processes[0].stopped);
  CHECK(end.processes[1].signal == SIGKILL);
  CHECK_FALSE(end.processes[1].stopped);
}

TEST_CASE("process group: a grandchild that holds the pipes does not delay the end, and goes too") {
  const GroupEnd end = watch({fake({"spawn", "exit", "0"})});
  CHECK(end.ending == GroupEnding::kFinished);
}

TEST_CASE("process group: silence is an ending") {
  const GroupEnd end =
      watch({fake({"hang"}), fake({"hang"})}, nullptr,
            {.silence_limit = Seconds(0.1), .settle = Seconds(0.05), .grace = Seconds(1)});
  CHECK(end.ending == GroupEnding::kSilent);
  CHECK(end.processes[0].stopped);
  CHECK(end.processes[1].stopped);
}

TEST_CASE("process group: an interruption stops all and does not end this process") {
  Interruption interruption;
  ProcessGroup group({fake({"say", "ready", "hang"}), fake({"hang"})});
  const GroupEnd end = group.wait({.grace = Seconds(1)}, interruption,
                                  [](int, std::string_view) { std::raise(SIGINT); });
  CHECK(end.ending == GroupEnding::kInterrupted);
  CHECK(end.processes[0].stopped);
  CHECK(end.processes[1].stopped);
  CHECK_THROWS_AS(interruption.check(), Error);
}

TEST_CASE("process group: a long line is cut and a flood of errors kept to its end") {
  std::vector<std::string> lines;
  const GroupEnd end = watch(
      {fake({"say", std::string(100'000, 'x'), "warn", std::string(20'000, 'y'), "exit", "1"})},
      &lines, {.settle = Seconds(0)});
  CHECK(lines.size() >= 2);
  CHECK(end.processes[0].stderr_tail == std::string(8191, 'y') + "\n");
}

TEST_CASE("process group: a child inherits the listening socket, and the port is free afterwards") {
  ListeningSocket socket;
  const int port = socket.port();
  Interruption interruption;
  ProcessGroup group(
      {{.command = {PPPLAN_FAKE_WORKER, "act", "knock"}, .inherited = socket.descriptor()}});
  socket.close();
  const int knocking = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(connect(knocking, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const GroupEnd end = group.wait({}, interruption, [](int, std::string_view) {});
  CHECK(end.ending == GroupEnding::kFinished);
  ::close(knocking);
  CHECK(ListeningSocket("127.0.0.1", port).port() == port);
}

TEST_CASE("process group: processes die with the parent, however it dies") {
  int channel[2];
  REQUIRE(pipe(channel) == 0);
  const pid_t parent = fork();
  if (parent == 0) {
    // A parent that is killed while it watches.
    Interruption interruption;
    ProcessGroup group({fake({"number", "deaf", "hang"})});
    group.wait({}, interruption, [&](int, std::string_view line) {
      [[maybe_unused]] const ssize_t told = write(channel[1], line.data(), line.size());
      ::kill(getpid(), SIGKILL);
    });
    _exit(1);
  }
  ::close(channel[1]);
  std::string number(32, '\0');
  const ssize_t got = read(channel[0], number.data(), number.size());
  REQUIRE(got > 0);
  number.resize(static_cast<std::size_t>(got));
  // The child holds the writing end too: its end is the end of this pipe.
  char ended = 0;
  CHECK(read(channel[0], &ended, 1) == 0);
  waitpid(parent, nullptr, 0);
  ::close(channel[0]);
}

}  // namespace
}  // namespace ppplan::launch
