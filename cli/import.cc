// ppplan import: turns another planner's graph into a profile.
#include "profiler/import/import.h"

#include "cli/shell.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/graph_profile.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

namespace ppplan::cli {
namespace {

struct Arguments {
  std::string graph;
  std::string output;
};

std::string in_words(const GraphProfile& profile) {
  std::size_t edge_count = 0;
  for (const GraphNode& node : profile.nodes) edge_count += node.next.size();
  std::string text =
      fmt::format("{}: {} nodes, {} edges", profile.source, profile.nodes.size(), edge_count);
  if (profile.machine) {
    text +=
        fmt::format("; asks about {} accelerators of {} and {} CPUs", profile.machine->accelerators,
                    ppplan::human(profile.machine->memory), profile.machine->cpus);
  }
  return text + '\n';
}

void run(const Arguments& arguments, Shell& shell) {
  std::error_code absent;
  if (std::filesystem::equivalent(arguments.graph, arguments.output, absent)) {
    throw Error(Failure::kBadInput,
                fmt::format("-o {}: that is the graph itself", arguments.output),
                "give the profile a name of its own: -o profile.yaml");
  }
  const std::string text = read_file(arguments.graph);
  profiler::ImportedGraph imported = profiler::import_graph(text, arguments.graph);
  imported.profile.tool_version = PPPLAN_VERSION;
  imported.profile.input_sha256 = sha256(text);
  OutputFile output(arguments.output);
  output.commit(write_graph_profile(imported.profile));
  const std::unique_ptr<Progress> progress = shell.progress();
  for (const std::string& note : imported.notes) progress->note(note);
  if (arguments.output != "-") print(in_words(imported.profile));
}

}  // namespace

void add_import(CLI::App& app, Shell& shell) {
  CLI::App* verb = app.add_subcommand(
      "import", "Turn a graph of PipeDream or dnn-partitioning into a profile for 'partition'");
  const auto arguments = std::make_shared<Arguments>();
  verb->add_option("graph", arguments->graph,
                   "graph.txt of PipeDream, or JSON of dnn-partitioning; - is standard input")
      ->option_text("FILE")
      ->required();
  verb->add_option("-o,--output", arguments->output, "Write the profile here; - is standard output")
      ->option_text("PROFILE")
      ->required();
  verb->callback([arguments, &shell] { run(*arguments, shell); });
}

}  // namespace ppplan::cli
