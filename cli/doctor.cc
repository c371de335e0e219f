// ppplan doctor: what this machine offers, what would go wrong, and what to do about it.
#include "cli/shell.h"
#include "cli/workers.h"
#include "executor/launch/interruption.h"
#include "executor/launch/workers.h"
#include "profiler/environment/findings.h"
#include "reports/documents/error.h"
#include "reports/documents/json_writer.h"
#include "reports/render/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ppplan::cli {
namespace {

using profiler::Finding;
using profiler::Health;

enum class Output { kTable, kJson };

struct DoctorOptions {
  std::optional<std::string> worker;
  Output format = Output::kTable;
};

std::variant<WorkerVersions, profiler::WorkerProblem> ask_worker(const DoctorOptions& options) {
  launch::Interruption interruption;
  try {
    return launch::ask_versions(worker_program(options.worker), interruption);
  } catch (const Error& error) {
    if (error.failure() == Failure::kInterrupted) throw;
    return profiler::WorkerProblem{.message = error.what(), .hint = error.hint()};
  }
}

profiler::MachineFacts gather(const DoctorOptions& options) {
  profiler::MachineFacts facts;
  facts.worker = ask_worker(options);
  facts.container = profiler::read_container_limits();
  facts.cores = profiler::read_cores(profiler::allowed_cores(), facts.container);
  facts.memory = profiler::read_memory(facts.container);
  facts.gpu = profiler::read_gpus();
  facts.counters = profiler::read_counter_permission();
  facts.network = profiler::read_network();
  facts.limits = profiler::read_limits(".");
  facts.gloo_interface = environment_variable("GLOO_SOCKET_IFNAME");
  return facts;
}

std::string_view word(Health health) {
  switch (health) {
    case Health::kNone:
      return "none";
    case Health::kOk:
      return "ok";
    case Health::kWarning:
      return "warning";
    case Health::kError:
      return "error";
  }
  return "";
}

std::string table(const std::vector<Finding>& findings, const render::TableOptions& options) {
  render::Table table({{"", render::Align::kLeft},
                       {"what", render::Align::kLeft},
                       {"found", render::Align::kLeft, render::Fit::kShorten}});
  std::string fixes;
  for (const Finding& finding : findings) {
    table.row({std::string(word(finding.health)), finding.name, finding.detail});
    if (finding.fix.empty()) continue;
    fixes += fmt::format("{}: {}: {}\n  fix: {}\n", word(finding.health), finding.name,
                         finding.detail, finding.fix);
  }
  return table.text(options) + (fixes.empty() ? "" : "\n" + fixes);
}

std::string json(const std::vector<Finding>& findings, bool healthy) {
  JsonWriter writer;
  writer.begin_object().member("cpu_run_possible", healthy);
  writer.key("findings").begin_array();
  for (const Finding& finding : findings) {
    writer.begin_object()
        .member("name", finding.name)
        .member("status", word(finding.health))
        .member("detail", finding.detail)
        .member("fix", finding.fix)
        .member("blocks_cpu_run", finding.blocks_cpu_run)
        .end_object();
  }
  writer.end_array().end_object();
  return writer.take();
}

void doctor(const DoctorOptions& options, Shell& shell) {
  const std::vector<Finding> findings = profiler::examine(gather(options));
  const bool healthy = std::none_of(findings.begin(), findings.end(),
                                    [](const Finding& finding) { return finding.blocks_cpu_run; });
  if (options.format == Output::kJson) {
    print(json(findings, healthy));
  } else {
    print(table(findings, shell.table_options()));
    print(healthy ? "\nThe main job can run on this machine's CPU.\n"
                  : "\nThe main job cannot run here until the errors above are fixed.\n");
  }
  if (!healthy) shell.exit_code = static_cast<int>(Failure::kRuntime);
}

}  // namespace

void add_doctor(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* verb =
      app.add_subcommand("doctor", "Say what this machine offers and what would go wrong");
  verb->add_flag_callback(
      "--json", [options] { options->format = Output::kJson; }, "Print JSON instead of a table");
  verb->add_option("--worker", options->worker, "Worker program [ppplan-worker beside ppplan]")
      ->option_text("PATH");
  verb->callback([options, &shell] { doctor(*options, shell); });
}

}  // namespace ppplan::cli
