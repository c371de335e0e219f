// Wrong command lines, and the help that shows right ones.
#include "tests/cli/program.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ppplan::cli {
namespace {

TEST_CASE("command line: a usage error names the slip and the help that has the answer") {
  const auto said = [](const std::vector<std::string>& words) { return run_program(words).errors; };
  CHECK(said({"inpsect", "x"}) ==
        "error: unknown verb 'inpsect'\nhint: did you mean 'ppplan inspect'?\n");
  CHECK(said({"--color", "never", "zzz"}) ==
        "error: unknown verb 'zzz'\nhint: see 'ppplan --help'\n");
  CHECK(said({"doctor", "--jsn"}) ==
        "error: unknown option --jsn\nhint: did you mean --json? see 'ppplan doctor --help'\n");
  CHECK(said({"partition", "--globl-batch=4"}) ==
        "error: unknown option --globl-batch\n"
        "hint: did you mean --global-batch? see 'ppplan partition --help'\n");
  CHECK(said({"inspect", "x", "--qqqqqqqqqqqq"}) ==
        "error: unknown option --qqqqqqqqqqqq\nhint: see 'ppplan inspect --help'\n");
  CHECK(said({"partition"}).ends_with("hint: see 'ppplan partition --help'\n"));
}

TEST_CASE("command line: help marks what is required") {
  CHECK(run_program({"partition", "--help"}).output.find("--global-batch B REQUIRED") !=
        std::string::npos);
  CHECK(run_program({"profile", "--help"}).output.find("-o,--output FILE REQUIRED") !=
        std::string::npos);
}

}  // namespace
}  // namespace ppplan::cli
