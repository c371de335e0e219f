#include "cli/shell.h"

namespace ppplan::cli {

void add_export(CLI::App& /*app*/, Shell& /*shell*/) {}

}  // namespace ppplan::cli
