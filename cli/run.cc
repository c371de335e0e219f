// ppplan run: runs exactly the plan on this machine and says what happened, predicted beside
// measured.
#include "cli/shell.h"
#include "cli/validators.h"
#include "cli/workers.h"
#include "executor/launch/bundled_text.h"
#include "executor/launch/external_launcher.h"
#include "executor/launch/listening_socket.h"
#include "executor/launch/merge_reports.h"
#include "executor/launch/placement.h"
#include "executor/launch/verdict.h"
#include "executor/launch/workers.h"
#include "planner/schedule/planned.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/job.h"
#include "reports/documents/plan.h"
#include "reports/documents/run_report.h"
#include "reports/render/run_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace ppplan::cli {
namespace {

namespace fs = std::filesystem;

/// A hung worker is given up after this many of its peers' time-outs.
constexpr double kSilenceFactor = 10.0;

enum class Verification { kWhenItFits, kAlways, kNever };
enum class Output { kTable, kJson };

struct RunOptions {
  std::string plan;
  RunJob job;  ///< what the options say of it
  std::optional<std::string> data;
  std::optional<std::string> output;
  std::optional<std::string> worker;
  Verification verification = Verification::kWhenItFits;
  std::optional<double> max_error_percent;
  int port = 0;
  double timeout_s = 60.0;
  Output format = Output::kTable;
};

/// One run: its plan, its folder, and what was learned on the way.
struct Run {
  Plan plan;
  std::string plan_text;
  RunJob job;
  fs::path folder;
  fs::path worker;
  Kernels kernels;
  std::vector<std::string> warnings;

  [[nodiscard]] fs::path job_file() const { return folder / "job.yaml"; }
  [[nodiscard]] fs::path gradients_file() const { return folder / "reference.safetensors"; }
  [[nodiscard]] fs::path rank_file(std::size_t rank) const {
    return folder / fmt::format("rank{}.yaml", rank);
  }
};

void warn(Run& run, Progress& progress, const std::string& warning) {
  run.warnings.push_back(warning);
  progress.note("warning: " + warning);
}

void write_file(const fs::path& path, std::string_view content) {
  OutputFile(path).commit(content);
}

/// A schedule that cannot be, or does not suit the plan, is told before any process starts.
void check_schedule(const Plan& plan, const std::string& name) {
  try {
    planner::planned_schedule(plan);
  } catch (const Error& e) {
    throw Error(e.failure(), fmt::format("{}: {}", name, e.what()), e.hint());
  }
}

/// Results are written under fixed names: a folder that holds anything but a run's is left alone.
void refuse_foreign_folder(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored) || fs::is_empty(folder, ignored)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with("job") && file.ends_with(".yaml")) return;  // an earlier run's
  }
  throw Error(
      Failure::kBadInput, fmt::format("--output {}: the folder holds other files", folder.string()),
      "name an empty or a new folder: a run writes job.yaml, data.txt, report.yaml and more");
}

/// Reads the plan and puts all that the workers need into the run's folder.
Run prepare(const RunOptions& options) {
  Run run;
  if (options.output && options.output->empty()) {
    throw Error(Failure::kBadInput, "--output: expected a folder's name, found ''");
  }
  if (options.data && !fs::is_regular_file(*options.data)) {
    throw Error(Failure::kBadInput, fmt::format("--data {}: no regular file", *options.data),
                "every rank reads the text for itself: copy it into a file");
  }
  run.plan_text = read_file(options.plan);
  run.plan = read_plan(run.plan_text, options.plan);
  if (run.plan.export_only) {
    throw Error(
        Failure::kBadInput,
        fmt::format("{}: export only: this plan has degrees the executor cannot run", options.plan),
        "write a trainer's configuration from it with 'ppplan export'");
  }
  check_schedule(run.plan, options.plan);
  const fs::path plan_folder =
      options.plan == "-" ? fs::path() : fs::path(options.plan).parent_path();
  run.folder = fs::absolute(options.output ? fs::path(*options.output) : plan_folder / "run");
  run.worker = worker_program(options.worker);
  refuse_foreign_folder(run.folder);
  make_folder(run.folder);

  run.job = options.job;
  run.job.output = run.folder.string();
  run.job.plan = (run.folder / "plan.yaml").string();
  run.job.rendezvous.timeout = Seconds(options.timeout_s);
  write_file(run.job_file(), write_run_job(run.job));  // marks the folder as a run's from now on
  write_file(run.job.plan, run.plan_text);
  if (options.data) {
    run.job.data = fs::absolute(*options.data).string();
  } else {
    run.job.data = (run.folder / "data.txt").string();
    write_file(run.job.data, launch::bundled_text());
  }
  return run;
}

/// What an earlier run left would be taken for this one's.
void remove_old_results(const Run& run) {
  std::error_code ignored;
  for (std::size_t rank = 0; rank < run.plan.ranks.size(); ++rank) {
    fs::remove(run.rank_file(rank), ignored);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(run.folder, ignored)) {
    const std::string file = entry.path().filename().string();
    if (file == "report.yaml" || file.starts_with("failure")) fs::remove(entry.path(), ignored);
  }
  fs::remove(run.folder / "reference.yaml", ignored);
  fs::remove(run.gradients_file(), ignored);
}

bool decide_verification(const RunOptions& options, const Run& run, Progress& progress) {
  if (options.verification == Verification::kNever) return false;
  const Bytes needed = launch::reference_memory(run.plan);
  const Bytes available = available_memory();
  if (needed <= available) return true;
  const std::string comparison =
      fmt::format("the whole model needs about {} in one process, {} are free", human(needed),
                  human(available));
  if (options.verification == Verification::kAlways) {
    progress.note("warning: " + comparison);
    return true;
  }
  progress.note("not verified against a single process: " + comparison + " (--verify insists)");
  return false;
}

void place_workers(Run& run, Progress& progress) {
  const auto rank_count = static_cast<int>(run.plan.ranks.size());
  const launch::AvailableCores cores = available_cores();
  run.job.workers = launch::place(rank_count, cores);
  run.job.reference = launch::place(1, cores).front();
  if (const auto warning = placement_warning(run.job.workers)) warn(run, progress, *warning);
}

void compare_kernels(Run& run, launch::Interruption& interruption, Progress& progress) {
  run.kernels = launch::ask_versions(run.worker, interruption).kernels;
  run.kernels.threads = run.job.workers.front().threads;
  run.kernels.pinned = !run.job.workers.front().cores.empty();
  for (const std::string& warning : launch::kernel_warnings(run.plan.kernels, run.kernels)) {
    warn(run, progress, warning);
  }
}

std::string rank_name(const Plan& plan, std::size_t rank) {
  std::string stages;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const PlanStage& one = plan.stages[stage];
    if (one.rank != static_cast<int>(rank)) continue;
    stages += fmt::format("{}stage {}, ", stages.empty() ? "" : "; ", stage);
    stages += one.layer_count == 0 ? "no layers"
                                   : fmt::format("layers {}-{}", one.first_layer,
                                                 one.first_layer + one.layer_count - 1);
  }
  return fmt::format("rank {} ({})", rank, stages);
}

launch::WorkerPlan workers_of(const Run& run, std::vector<launch::WorkerCall> calls) {
  return {.program = run.worker,
          .output = run.folder,
          .calls = std::move(calls),
          .watch = {.silence_limit = run.job.rendezvous.timeout * kSilenceFactor}};
}

ReferenceReport run_reference(const Run& run, launch::Interruption& interruption,
                              Progress& progress) {
  progress.start("single process, to compare with", 1.0);
  launch::run_workers(workers_of(run, {{.name = "the single process",
                                        .arguments = {"reference", run.job_file().string()},
                                        .inherited = {}}}),
                      interruption, progress);
  progress.finish();
  return load_reference_report(run.folder / "reference.yaml");
}

std::vector<RankReport> run_ranks(const Run& run, launch::ListeningSocket& socket,
                                  launch::Interruption& interruption, Progress& progress) {
  std::vector<launch::WorkerCall> calls;
  for (std::size_t rank = 0; rank < run.plan.ranks.size(); ++rank) {
    launch::WorkerCall call{
        .name = rank_name(run.plan, rank),
        .arguments = {"run", run.job_file().string(), "--rank", fmt::format("{}", rank)},
        .inherited = {}};
    if (rank == 0) {
      call.arguments.insert(call.arguments.end(),
                            {"--listen-fd", fmt::format("{}", launch::kInheritedDescriptor)});
      call.inherited = socket.descriptor();
    }
    calls.push_back(std::move(call));
  }
  progress.start("run", 1.0);
  launch::run_workers(workers_of(run, std::move(calls)), interruption, progress,
                      [&socket] { socket.close(); });
  progress.finish();
  std::vector<RankReport> ranks;
  for (std::size_t rank = 0; rank < run.plan.ranks.size(); ++rank) {
    ranks.push_back(load_rank_report(run.rank_file(rank)));
  }
  return ranks;
}

void show(const RunReport& report, const RunOptions& options, const Shell& shell) {
  print(options.format == Output::kJson ? render::run_json(report)
                                        : render::run_view(report, shell.table_options()));
}

/// Below the table: what only the finished run could tell and, on a terminal, where the earlier
/// warnings have scrolled away by now, those again.
void show_warnings(const std::vector<std::string>& before, const std::vector<std::string>& found,
                   const Shell& shell, Progress& progress) {
  if (shell.watched()) {
    for (const std::string& warning : before) progress.note("warning: " + warning);
  }
  for (const std::string& warning : found) progress.note("warning: " + warning);
}

/// The reference's gradients are as large as the model: they stay only where they have something
/// to tell.
void judge(const Run& run, const RunReport& report, const RunOptions& options) {
  if (const auto error = launch::not_verified(report, options.job.tolerance)) {
    throw Error(error->failure(), error->what(),
                fmt::format("{}; the single process's gradients are in {}", error->hint(),
                            run.gradients_file().string()));
  }
  std::error_code ignored;
  fs::remove(run.gradients_file(), ignored);
  if (!options.max_error_percent) return;
  if (const auto error = launch::prediction_missed(report, *options.max_error_percent / 100.0)) {
    throw *error;
  }
}

void run_locally(const RunOptions& options, const Shell& shell) {
  launch::Interruption interruption;
  const std::unique_ptr<Progress> progress = shell.progress();
  Run run = prepare(options);
  launch::ListeningSocket socket("127.0.0.1", options.port);
  place_workers(run, *progress);
  compare_kernels(run, interruption, *progress);
  remove_old_results(run);
  OutputFile report_file(run.folder / "report.yaml");
  run.job.verify = decide_verification(options, run, *progress);
  run.job.rendezvous.host = socket.host();
  run.job.rendezvous.port = socket.port();
  write_file(run.job_file(), write_run_job(run.job));

  launch::RunResults results;
  if (run.job.verify) results.reference = run_reference(run, interruption, *progress);
  results.ranks = run_ranks(run, socket, interruption, *progress);
  results.plan_sha256 = sha256(run.plan_text);
  results.kernels = run.kernels;
  RunReport report = launch::merge_reports(run.plan, run.job, results);
  const std::vector<std::string> found = launch::prediction_warnings(report);
  report.warnings = run.warnings;
  report.warnings.insert(report.warnings.end(), found.begin(), found.end());
  report_file.commit(write_run_report(report));
  show(report, options, shell);
  show_warnings(run.warnings, found, shell, *progress);
  judge(run, report, options);
}

/// Replaces this process by the worker of the rank that another launcher gave it.
[[noreturn]] void become(const Run& run, const fs::path& job_file, int rank) {
  std::vector<std::string> command{run.worker.string(), "run", job_file.string(), "--rank",
                                   fmt::format("{}", rank)};
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  execv(arguments.front(), arguments.data());
  throw Error(Failure::kRuntime, fmt::format("cannot start {}: {}", run.worker.string(),
                                             std::generic_category().message(errno)));
}

void run_as_rank(const launch::ExternalRank& external, const RunOptions& options,
                 const Shell& shell) {
  Run run = prepare(options);
  const std::size_t rank_count = run.plan.ranks.size();
  if (static_cast<std::size_t>(external.rank_count) != rank_count) {
    throw Error(Failure::kBadInput,
                fmt::format("{} started {} ranks, but the plan has {}", external.launcher,
                            external.rank_count, rank_count),
                fmt::format("start {} processes, or plan with --stages {}", rank_count,
                            external.rank_count));
  }
  run.job.verify = false;
  run.job.rendezvous.host = external.host;
  run.job.rendezvous.port = external.port;
  run.job.workers.resize(rank_count);
  run.job.workers[static_cast<std::size_t>(external.rank)] = launch::place(
      external.local_count, available_cores())[static_cast<std::size_t>(external.local_rank)];
  const fs::path job_file = run.folder / fmt::format("job{}.yaml", external.rank);
  write_file(job_file, write_run_job(run.job));
  if (external.rank == 0) {
    shell.progress()->note(fmt::format(
        "{} ranks of {}, meeting at {}:{}; each leaves its figures in {}; not verified", rank_count,
        external.launcher, external.host, external.port, run.folder.string()));
  }
  become(run, job_file, external.rank);
}

void run_verb(const RunOptions& options, const Shell& shell) {
  if (const auto external = launch::external_rank(environment_variable)) {
    run_as_rank(*external, options, shell);
  } else {
    run_locally(options, shell);
  }
}

void add_training_options(CLI::App& verb, RunOptions& options) {
  verb.add_option("--steps", options.job.step_count, "Steps to measure [5]")
      ->check(CLI::Range(1, 1'000'000))
      ->option_text("N");
  verb.add_option("--warmup", options.job.warmup_step_count, "Steps before them, not measured [2]")
      ->check(CLI::Range(0, 1'000'000))
      ->option_text("N");
  verb.add_option("--data", options.data, "Text to train on, byte by byte [a bundled one]")
      ->check(CLI::ExistingFile)
      ->option_text("FILE");
  verb.add_option("--weights", options.job.weights, "Folder of *.safetensors to start from")
      ->check(CLI::ExistingDirectory)
      ->option_text("DIR");
  verb.add_option("--seed", options.job.seed, "Of the initial weights [0]")->option_text("S");
  verb.add_option("--learning-rate", options.job.learning_rate, "AdamW's [3e-4]")
      ->check(finite_range(0.0, 1e6))
      ->option_text("X");
}

void add_checks(CLI::App& verb, RunOptions& options) {
  CLI::Option* const always = verb.add_flag_callback(
      "--verify", [&options] { options.verification = Verification::kAlways; },
      "Compare loss and gradients with a single process, though memory is short");
  CLI::Option* const never = verb.add_flag_callback(
      "--no-verify", [&options] { options.verification = Verification::kNever; },
      "Do not compare with a single process [compared when it fits in memory]");
  never->excludes(always);
  verb.add_option("--tolerance", options.job.tolerance,
                  "Largest relative difference of loss and gradients [1e-4]")
      ->check(finite_range(0.0, 1.0))
      ->option_text("X");
  verb.add_option("--max-error", options.max_error_percent,
                  "Exit 4 when a prediction misses by more")
      ->check(finite_range(0.0, 1e6))
      ->option_text("PCT");
}

}  // namespace

void add_run(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand(
      "run", "Run a plan on this machine: predicted beside measured, gradients verified");
  verb->add_option("PLAN", options->plan, "plan.yaml, or - for standard input")->required();
  verb->add_option("-o,--output", options->output, "Folder for results [run/ beside the plan]")
      ->option_text("DIR");
  add_training_options(*verb, *options);
  add_checks(*verb, *options);
  verb->add_option("--port", options->port, "Where ranks meet, on 127.0.0.1 [any free port]")
      ->check(CLI::Range(1, 65535))
      ->option_text("N");
  verb->add_option("--timeout", options->timeout_s, "Seconds a rank waits for a silent peer [60]")
      ->check(finite_range(1.0, 86400.0))
      ->option_text("S");
  verb->add_option("--worker", options->worker, "Worker program [ppplan-worker beside ppplan]")
      ->option_text("PATH");
  verb->add_flag_callback(
      "--json", [options] { options->format = Output::kJson; }, "Print JSON instead of a table");
  verb->callback([options, &shell] { run_verb(*options, shell); });
}

}  // namespace ppplan::cli
