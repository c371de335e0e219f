// ppplan partition --rules: cuts of graphs by the rules of other planners.
#pragma once

#include "cli/shell.h"
#include "reports/documents/units.h"

#include <optional>
#include <string>

namespace ppplan::cli {

/// As the command line gives it; empty and absent is "not given".
struct GraphQuestion {
  std::string rules;
  std::string devices;
  std::string bandwidth;
  std::optional<int> cpus;
  bool no_replication = false;

  /// An option of graphs that was given although --rules was not; nullptr when none was.
  [[nodiscard]] const char* option_without_rules() const;
};

/// Declares the options that only graphs have.
void add_graph_options(CLI::App& verb, GraphQuestion& question);

/// Reads a graph profile, or another planner's file as `import` does, from `text`, finds the best
/// cut and prints it. Throws Error: kBadInput for what does not go together, kNoPlan when no cut
/// fits.
void partition_graph(const std::string& text, const std::string& file,
                     const GraphQuestion& question, std::optional<Bytes> memory, bool json,
                     Shell& shell);

}  // namespace ppplan::cli
