#include "tests/cli/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace ppplan::cli {
namespace {

/// A nameless file: unlike a pipe it takes any amount while nobody reads.
using Capture = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Capture make_capture() {
  Capture file(std::tmpfile(), std::fclose);
  if (!file) throw std::runtime_error("cannot create a temporary file");
  return file;
}

std::string content(std::FILE* file) {
  std::rewind(file);
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 1; got > 0;) {
    got = std::fread(buffer.data(), 1, buffer.size(), file);
    text.append(buffer.data(), got);
  }
  return text;
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments) {
  const Capture output = make_capture();
  const Capture errors = make_capture();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(output.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(errors.get()), STDERR_FILENO);
  std::vector<std::string> words{"ppplan"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t process = 0;
  const int failure =
      posix_spawn(&process, PPPLAN_PROGRAM, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::runtime_error("cannot start " PPPLAN_PROGRAM);
  int status = 0;
  if (waitpid(process, &status, 0) != process) throw std::runtime_error("cannot wait");
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .output = content(output.get()),
          .errors = content(errors.get())};
}

}  // namespace ppplan::cli
