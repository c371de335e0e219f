// Runs a program as a user's shell would, for tests of the command line.
#pragma once

#include "tests/support/temporary_folder.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace ppplan::test {

struct CommandResult {
  int exit_code = -1;  ///< as a shell tells it: 128 + signal for one that was killed
  std::string out;
  std::string error;
};

inline std::string content_of(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

/// `line` is a line for sh.
inline CommandResult run_command(const std::string& line) {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
  const std::string error = (folder.path() / "error").string();
  const int status = std::system(("( " + line + " ) >" + out + " 2>" + error).c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = content_of(out),
          .error = content_of(error)};
}

}  // namespace ppplan::test
