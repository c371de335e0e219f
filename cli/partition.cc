#include "cli/shell.h"

namespace ppplan::cli {

void add_partition(CLI::App& /*app*/, Shell& /*shell*/) {}

}  // namespace ppplan::cli
