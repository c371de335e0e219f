// The built program as a shell sees it: exit codes, streams, terminals.
#include "tests/support/command.h"

#include <doctest/doctest.h>
#include <pty.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <vector>

namespace ppplan::test {
namespace {

const std::string kProgram = PPPLAN_PROGRAM;

TEST_CASE(
    "command line: no verb, a wrong one, or a wrong option is exit 2, nothing on standard output") {
  for (const char* words : {"", "prophile", "doctor --jsn", "profile", "run --steps -1 x"}) {
    CAPTURE(words);
    const CommandResult result = run_command(kProgram + " " + words);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(result.error.starts_with("error: "));
    CHECK(result.error.find("hint: ") != std::string::npos);
  }
  CHECK(run_command(kProgram + " prophile").error.find("did you mean 'ppplan profile'?") !=
        std::string::npos);
}

/// The first words of the lines under "Subcommands:" in the program's own help.
std::vector<std::string> verbs() {
  std::istringstream help(run_command(kProgram + " --help").out);
  std::vector<std::string> result;
  bool listed = false;
  for (std::string line; std::getline(help, line);) {
    if (listed && line.starts_with("  ")) result.push_back(line.substr(2, line.find(' ', 2) - 2));
    listed = listed || line == "Subcommands:";
  }
  return result;
}

TEST_CASE("command line: every verb explains itself") {
  CHECK(verbs().size() >= 5);
  for (const std::string& verb : verbs()) {
    CAPTURE(verb);
    const CommandResult result = run_command(kProgram + " " + verb + " --help");
    CHECK(result.exit_code == 0);
    CHECK(result.out.find("Usage: ppplan " + verb) != std::string::npos);
    CHECK(result.error.empty());
  }
}

TEST_CASE("command line: a reader that goes away ends nothing") {
  const CommandResult result =
      run_command("{ " + kProgram +
                  " doctor --json --worker " PPPLAN_FAKE_WORKER "; echo code $? >&2; } | true");
  CHECK(result.error.find("code 0") != std::string::npos);
}

TEST_CASE("command line: standard output that cannot be written is an error") {
  const CommandResult result =
      run_command(kProgram + " doctor --json --worker " PPPLAN_FAKE_WORKER " > /dev/full");
  CHECK(result.exit_code == 1);
  CHECK(result.error.find("standard output: cannot write: No space left on device") !=
        std::string::npos);
}

TEST_CASE("command line: closed streams are no disaster") {
  CHECK(run_command(kProgram + " doctor --worker " PPPLAN_FAKE_WORKER " <&- >&- 2>&-").exit_code ==
        0);
  CHECK(run_command(kProgram + " nonsense 2>&-").exit_code == 2);
}

TEST_CASE("doctor: without a worker the main job cannot run") {
  const CommandResult result = run_command(kProgram + " doctor --json --worker /nowhere/worker");
  CHECK(result.exit_code == 1);
  CHECK(result.out.find("\"cpu_run_possible\": false") != std::string::npos);
  CHECK(result.out.find("cannot find the worker /nowhere/worker") != std::string::npos);
}

TEST_CASE("doctor: colours only when they are asked for or there is a terminal") {
  const std::string doctor = " doctor --worker " PPPLAN_FAKE_WORKER;
  CHECK(run_command(kProgram + doctor).out.find('\x1b') == std::string::npos);
  CHECK(run_command(kProgram + doctor + " --color always").out.find('\x1b') != std::string::npos);
}

/// What a program writes to a terminal of its own.
std::string on_terminal(const std::string& line) {
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  REQUIRE(child >= 0);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  std::string all;
  std::string block(4096, '\0');
  for (ssize_t got = 0; (got = read(terminal, block.data(), block.size())) > 0;) {
    all.append(block, 0, static_cast<std::size_t>(got));
  }
  waitpid(child, nullptr, 0);
  close(terminal);
  return all;
}

TEST_CASE("doctor: a terminal gets colours, unless NO_COLOR is set") {
  const std::string doctor = kProgram + " doctor --worker " PPPLAN_FAKE_WORKER;
  CHECK(on_terminal("TERM=xterm NO_COLOR= " + doctor).find("\x1b[") != std::string::npos);
  CHECK(on_terminal("TERM=xterm NO_COLOR=1 " + doctor).find("\x1b[") == std::string::npos);
}

}  // namespace
}  // namespace ppplan::test
