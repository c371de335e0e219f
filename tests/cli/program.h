// Runs the built ppplan as its users do and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace ppplan::cli {

struct ProgramResult {
  int exit_code = 0;  ///< 128 + signal when it was killed by one
  std::string output;
  std::string errors;
};

/// Runs `ppplan` with these arguments, standard input empty, and waits for its end.
ProgramResult run_program(const std::vector<std::string>& arguments);

}  // namespace ppplan::cli
