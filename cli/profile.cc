#include "cli/shell.h"

namespace ppplan::cli {

void add_profile(CLI::App& /*app*/, Shell& /*shell*/) {}

}  // namespace ppplan::cli
