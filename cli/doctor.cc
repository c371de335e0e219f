#include "cli/shell.h"

namespace ppplan::cli {

void add_doctor(CLI::App& /*app*/, Shell& /*shell*/) {}

}  // namespace ppplan::cli
