// ppplan export: writes a plan as the files of another trainer.
#include "cli/shell.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/plan.h"
#include "reports/export/exporter.h"

#include <fmt/format.h>

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

namespace ppplan::cli {
namespace {

namespace fs = std::filesystem;

struct ExportRequest {
  std::string plan;
  std::string trainer;
  std::string folder;
};

std::vector<exports::ExportedFile> export_or_refuse(const ExportRequest& request) {
  const exports::Exporter& exporter = exports::find_exporter(request.trainer);
  exports::Export result = exporter.write(load_plan(request.plan));
  if (const auto* refused = std::get_if<exports::Inexpressible>(&result)) {
    throw Error(
        Failure::kBadInput,
        fmt::format("{}: '{}' cannot express {}", request.plan, request.trainer, refused->reason),
        refused->nearest);
  }
  return std::get<std::vector<exports::ExportedFile>>(std::move(result));
}

/// All files are created before the first takes its name, so that a full or unwritable folder
/// leaves an earlier export as it was.
void write_all(const std::vector<exports::ExportedFile>& files, const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    throw Error(Failure::kRuntime,
                fmt::format("{}: cannot create the folder: {}", folder.string(), failed.message()));
  }
  std::deque<OutputFile> outputs;
  for (const exports::ExportedFile& file : files) outputs.emplace_back(folder / file.name);
  for (std::size_t index = 0; index < files.size(); ++index) {
    outputs[index].commit(files[index].content);
    print(fmt::format("wrote {}\n", (folder / files[index].name).string()));
  }
}

std::string trainer_list() {
  std::string list = "Trainers:\n";
  for (const exports::Exporter& exporter : exports::exporters()) {
    list += fmt::format("  {:<10} {}\n", exporter.name, exporter.summary);
  }
  return list;
}

}  // namespace

void add_export(CLI::App& app, Shell& /*shell*/) {
  const auto request = std::make_shared<ExportRequest>();
  CLI::App* verb = app.add_subcommand("export", "Writes a plan for another trainer");
  verb->add_option("PLAN", request->plan, "plan.yaml, or - for standard input")->required();
  verb->add_option("--to", request->trainer, "The trainer, from the list below")
      ->required()
      ->option_text("NAME");
  verb->add_option("-o,--output", request->folder,
                   "Folder to write into; made when it is not there")
      ->required()
      ->option_text("DIR");
  verb->footer(trainer_list());
  verb->callback([request] { write_all(export_or_refuse(*request), request->folder); });
}

}  // namespace ppplan::cli
