#include "cli/shell.h"

namespace ppplan::cli {

void add_run(CLI::App& /*app*/, Shell& /*shell*/) {}

}  // namespace ppplan::cli
