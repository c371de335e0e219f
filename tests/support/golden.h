// Golden files: texts that the program is known to print, kept under tests/golden/ and reviewed as
// code.
#pragma once

#include <string>
#include <string_view>

namespace ppplan::tests {

/// Fails the running test, naming the first line that differs, unless `text` equals
/// tests/golden/`name`. With PPPLAN_UPDATE_GOLDEN=1 in the environment the file is written instead:
/// run the tests so once, then review the difference in git. Never for a measured time.
void check_golden(std::string_view text, const std::string& name);

}  // namespace ppplan::tests
