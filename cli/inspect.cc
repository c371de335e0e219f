#include "cli/shell.h"

namespace ppplan::cli {

void add_inspect(CLI::App& /*app*/, Shell& /*shell*/) {}

}  // namespace ppplan::cli
