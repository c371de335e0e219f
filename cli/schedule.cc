#include "cli/shell.h"

namespace ppplan::cli {

void add_schedule(CLI::App& /*app*/, Shell& /*shell*/) {}

}  // namespace ppplan::cli
