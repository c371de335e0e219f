// ppplan profile: times every kind of layer of a model, and the link, on this machine; or estimates
// them for another.
#include "reports/documents/profile.h"

#include "cli/profile_estimate.h"
#include "cli/shell.h"
#include "cli/validators.h"
#include "cli/workers.h"
#include "executor/launch/listening_socket.h"
#include "executor/launch/placement.h"
#include "executor/launch/workers.h"
#include "profiler/models/counts.h"
#include "profiler/models/load.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/job.h"
#include "reports/render/profile_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace ppplan::cli {
namespace {

namespace fs = std::filesystem;

/// Without --sequence-lengths: long enough to keep a core busy, short enough for a minute in all.
constexpr std::int64_t kUsualSequence = 128;
/// Without --micro-batches.
constexpr std::array kUsualMicroBatches = {1, 2, 4};

struct ProfileOptions {
  std::string model;
  profiler::LoadOptions load;
  std::string output;
  std::vector<int> micro_batches;
  std::vector<std::int64_t> sequences;
  EstimateArguments estimate;
  int worker_count = 2;
  std::optional<int> threads;
  double target_spread = 0.03;
  double row_budget_s = 2.0;
  double timeout_s = 60.0;
  std::optional<std::string> worker;
};

/// Where workers put their files, removed with them.
class WorkFolder {
 public:
  WorkFolder() {
    std::string name = (fs::temp_directory_path() / "ppplan-profile-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw Error(Failure::kRuntime, name + ": cannot make a temporary folder",
                  "set TMPDIR to a folder that can be written");
    }
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

template <typename T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

ProfileJob make_job(const ProfileOptions& options, const profiler::LoadedModel& loaded) {
  ProfileJob job;
  job.model = loaded.model;
  job.input_sha256 = loaded.sha256;
  job.micro_batches = options.micro_batches;
  job.sequences = options.sequences;
  if (job.sequences.empty()) {
    job.sequences = {std::min(kUsualSequence, loaded.model.max_sequence)};
  }
  if (job.micro_batches.empty()) {
    job.micro_batches = {kUsualMicroBatches.begin(), kUsualMicroBatches.end()};
  }
  job.target_spread = options.target_spread;
  job.row_budget = Seconds(options.row_budget_s);
  job.rendezvous.timeout = Seconds(options.timeout_s);
  job.workers = launch::place(options.worker_count, available_cores());
  for (WorkerPlacement& placement : job.workers) {
    placement.threads = options.threads.value_or(placement.threads);
  }
  return job;
}

/// A shape whose kept activations alone exceed the memory is refused before anything is measured.
void check_memory(const ProfileJob& job) {
  const std::int64_t sequence = job.sequences.back();
  const double tokens = static_cast<double>(sequence) * job.micro_batches.back();
  const double available = static_cast<double>(available_memory().count);
  const auto worker_count = static_cast<double>(job.workers.size());
  for (int kind = 0; kind < static_cast<int>(job.model.kinds.size()); ++kind) {
    const Bytes by_token =
        profiler::count_kind(job.model, kind, {.sequence = sequence}).activations_per_token;
    if (static_cast<double>(by_token.count) * tokens * worker_count <= available) continue;
    throw Error(Failure::kBadInput,
                fmt::format("{} samples of {} tokens do not fit: a layer keeps {} a token, and {} "
                            "are free for {} workers",
                            job.micro_batches.back(), sequence, human(by_token),
                            human(available_memory()), job.workers.size()),
                "measure smaller --micro-batches or --sequence-lengths");
  }
}

void run_workers(const ProfileOptions& options, ProfileJob& job, const fs::path& folder,
                 Progress& progress) {
  launch::Interruption interruption;
  launch::ListeningSocket socket;
  job.output = folder.string();
  job.rendezvous.host = socket.host();
  job.rendezvous.port = socket.port();
  const fs::path job_file = folder / "job.yaml";
  OutputFile(job_file).commit(write_profile_job(job));

  launch::WorkerPlan plan{.program = worker_program(options.worker),
                          .output = folder,
                          .calls = {},
                          .watch = {.silence_limit = job.rendezvous.timeout * 10.0}};
  for (int rank = 0; rank < options.worker_count; ++rank) {
    plan.calls.push_back(
        {.name = fmt::format("worker {}", rank),
         .arguments = {"profile", job_file.string(), "--rank", fmt::format("{}", rank)},
         .inherited = {}});
  }
  launch::WorkerCall& first = plan.calls.front();
  first.arguments.insert(first.arguments.end(),
                         {"--listen-fd", fmt::format("{}", launch::kInheritedDescriptor)});
  first.inherited = socket.descriptor();
  progress.start("profile", 1.0);
  launch::run_workers(plan, interruption, progress, [&socket] { socket.close(); });
  progress.finish();
}

/// Reads the model and says what is odd about it and about the sequences asked for.
profiler::LoadedModel load(const ProfileOptions& options, Progress& progress) {
  profiler::LoadedModel loaded = profiler::load_model(options.model, options.load);
  for (const std::string& warning : loaded.warnings) progress.note("warning: " + warning);
  for (const std::int64_t sequence : options.sequences) {
    profiler::check_sequence(loaded.model, sequence);
    if (const auto warning = profiler::sequence_warning(loaded.model, sequence)) {
      progress.note("warning: " + *warning);
    }
  }
  return loaded;
}

void measure_profile(const ProfileOptions& options, const profiler::LoadedModel& loaded,
                     const Shell& shell) {
  const std::unique_ptr<Progress> progress = shell.progress();
  ProfileJob job = make_job(options, loaded);
  if (const auto warning = placement_warning(job.workers)) progress->note("warning: " + *warning);

  check_memory(job);
  OutputFile output(options.output);
  const WorkFolder folder;
  run_workers(options, job, folder.path(), *progress);
  const fs::path result = folder.path() / "profile.yaml";
  const std::string text = read_file(result);
  const Profile profile = read_profile(text, result.string());
  output.commit(text);
  if (options.output == "-") return;  // standard output holds the document
  print(render::profile_view(profile, shell.table_options()));
  progress->note(fmt::format("wrote {}; next: ppplan partition {} --global-batch B -o plan.yaml",
                             options.output, options.output));
}

void profile_verb(ProfileOptions& options, const Shell& shell) {
  sort_unique(options.micro_batches);
  sort_unique(options.sequences);
  sort_unique(options.estimate.tensor_degrees);
  sort_unique(options.estimate.context_degrees);
  const profiler::LoadedModel loaded = load(options, *shell.progress());
  if (options.estimate.device) {
    estimate_profile(options.estimate, loaded, options.micro_batches, options.sequences,
                     options.output, shell);
  } else {
    measure_profile(options, loaded, shell);
  }
}

void add_grid_options(CLI::App& verb, ProfileOptions& options) {
  verb.add_option("--layers", options.load.layer_count, "Keep only the first N blocks")
      ->option_text("N");
  verb.add_option("--micro-batches", options.micro_batches,
                  "Samples to measure at [1,2,4; estimated 1,2,4,8]")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000))
      ->option_text("LIST");
  verb.add_option("--sequence-lengths", options.sequences,
                  "Tokens a sample to measure at [128, estimated 4096; or the model's positions]")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->option_text("LIST");
}

/// Each contradicts `estimate`.
void add_measuring_options(CLI::App& verb, ProfileOptions& options, CLI::Option* estimate) {
  verb.add_option("--workers", options.worker_count,
                  "Local workers, as many as the plan will have ranks here [2]")
      ->excludes(estimate)
      ->check(CLI::Range(1, 1024))
      ->option_text("N");
  verb.add_option("--threads", options.threads, "Of a worker [its share of the cores]")
      ->excludes(estimate)
      ->check(CLI::Range(1, 4096))
      ->option_text("T");
  verb.add_option("--target-spread", options.target_spread,
                  "Repeat until a median is known this well [0.03]")
      ->excludes(estimate)
      ->check(finite_range(1e-6, 1.0))
      ->option_text("X");
  verb.add_option("--row-budget", options.row_budget_s,
                  "Seconds after which a row counts as unstable [2]")
      ->excludes(estimate)
      ->check(finite_range(1e-3, 86400.0))
      ->option_text("S");
  verb.add_option("--timeout", options.timeout_s, "Seconds a worker waits for a silent peer [60]")
      ->excludes(estimate)
      ->check(finite_range(1.0, 86400.0))
      ->option_text("S");
  verb.add_option("--worker", options.worker, "Worker program [ppplan-worker beside ppplan]")
      ->excludes(estimate)
      ->option_text("PATH");
}

}  // namespace

void add_profile(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* verb = app.add_subcommand(
      "profile",
      "Measure a model's layers and the link on this machine, or estimate them for another");
  verb->add_option("MODEL", options->model, "Hugging Face config.json, or its folder")->required();
  verb->add_option("-o,--output", options->output,
                   "profile.yaml to write, or - for standard output")
      ->required()
      ->option_text("FILE");
  add_grid_options(*verb, *options);
  add_measuring_options(*verb, *options, add_estimate_options(*verb, options->estimate));
  verb->callback([options, &shell] { profile_verb(*options, shell); });
}

}  // namespace ppplan::cli
