// ppplan-worker: one rank of a run or of a profile. Its contract is told in
// reports/documents/job.h.
#include "executor/rank/check_model.h"
#include "executor/rank/process.h"
#include "executor/rank/run_rank.h"
#include "executor/transport/transport.h"
#include "profiler/measure/measure.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/job.h"
#include "reports/documents/plan.h"
#include "reports/progress.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>

namespace ppplan {
namespace {

namespace fs = std::filesystem;

/// Says progress to the parent in its line protocol.
class LineProgress final : public Progress {
 public:
  void advance(double done, double total, std::string_view detail) override {
    std::printf("progress %g %g %.*s\n", done, total, static_cast<int>(detail.size()),
                detail.data());
    std::fflush(stdout);
  }
  void note(std::string_view line) override {
    std::printf("note %.*s\n", static_cast<int>(line.size()), line.data());
    std::fflush(stdout);
  }
};

struct Arguments {
  std::string job;
  int rank = 0;
  std::optional<int> listen_fd;
  std::string weights, tokens, out;
};

void write_whole(const fs::path& path, const std::string& content) {
  OutputFile(path).commit(content);
}

const WorkerPlacement& placement_of(const std::vector<WorkerPlacement>& workers, int rank) {
  if (rank < 0 || rank >= static_cast<int>(workers.size())) {
    throw Error(Failure::kBadInput, "rank " + std::to_string(rank) + " is not in the job of " +
                                        std::to_string(workers.size()) + " workers");
  }
  return workers[static_cast<std::size_t>(rank)];
}

std::unique_ptr<executor::Transport> connect(const Rendezvous& rendezvous,
                                             const Arguments& arguments,
                                             const std::vector<WorkerPlacement>& workers) {
  const WorkerPlacement& placement = placement_of(workers, arguments.rank);
  executor::prepare_process(placement);
  auto transport = executor::make_gloo_transport(
      rendezvous, arguments.rank, static_cast<int>(workers.size()), arguments.listen_fd);
  executor::pin(placement);
  return transport;
}

void run(const Arguments& arguments, executor::Whereabouts& whereabouts) {
  const RunJob job = load_run_job(arguments.job);
  const Plan plan = load_plan(job.plan);
  LineProgress progress;
  const auto transport = connect(job.rendezvous, arguments, job.workers);
  const RankReport report = executor::run_rank(job, plan, *transport, progress, whereabouts);
  write_whole(fs::path(job.output) / ("rank" + std::to_string(arguments.rank) + ".yaml"),
              write_rank_report(report));
}

void reference(const Arguments& arguments) {
  const RunJob job = load_run_job(arguments.job);
  const Plan plan = load_plan(job.plan);
  executor::prepare_process(job.reference);
  executor::pin(job.reference);
  LineProgress progress;
  const ReferenceReport report = executor::run_reference_job(job, plan, progress);
  write_whole(fs::path(job.output) / "reference.yaml", write_reference_report(report));
}

void profile(const Arguments& arguments) {
  ProfileJob job = load_profile_job(arguments.job);
  LineProgress progress;
  const auto transport = connect(job.rendezvous, arguments, job.workers);
  Profile result = profiler::measure(job, *transport, progress);
  if (arguments.rank != 0) return;
  const auto worker_count = static_cast<int>(job.workers.size());
  for (int worker = 0; worker < worker_count; ++worker) {
    result.devices.push_back(
        executor::device_of(placement_of(job.workers, worker), worker, worker_count));
  }
  result.kernels = executor::kernels_of(job.workers.front());
  write_whole(fs::path(job.output) / "profile.yaml", write_profile(result));
}

/// Folder for a failure's file: the job's output, where the job can be read.
std::optional<fs::path> output_of(const std::string& job) {
  const fs::path folder = fs::path(job).parent_path();
  return job.empty() ? std::nullopt : std::optional(folder.empty() ? fs::path(".") : folder);
}

int fail(const Arguments& arguments, RankFailure failure) {
  failure.rank = arguments.rank;
  failure.time_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  std::fprintf(stderr, "error: %s\n", failure.message.c_str());
  try {
    if (const std::optional<fs::path> folder = output_of(arguments.job)) {
      write_whole(*folder / ("failure" + std::to_string(arguments.rank) + ".yaml"),
                  write_rank_failure(failure));
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
  }
  return failure.exit_code;
}

/// Does the work; every way it can fail becomes a failure file and an exit code.
int guarded(const Arguments& arguments, const executor::Whereabouts& whereabouts,
            const std::function<void()>& work) {
  try {
    work();
    return 0;
  } catch (const executor::PeerLost& e) {
    return fail(arguments, {.where = whereabouts.where,
                            .message = e.what(),
                            .hint = e.hint(),
                            .exit_code = 1,
                            .caused_by_peer = true});
  } catch (const Error& e) {
    return fail(arguments, {.where = whereabouts.where,
                            .message = e.what(),
                            .hint = e.hint(),
                            .exit_code = static_cast<int>(e.failure())});
  } catch (const std::bad_alloc&) {
    return fail(arguments, {.where = whereabouts.where,
                            .message = "out of memory",
                            .hint = "plan with a smaller --memory limit or --micro-batch"});
  } catch (const std::exception& e) {
    const std::string text = e.what();
    return fail(arguments, {.where = whereabouts.where,
                            .message = text.substr(0, text.find('\n')),
                            .hint = "LibTorch said this; 'ppplan doctor' checks the installation"});
  }
}

int main_of_worker(int argc, char** argv) {
  CLI::App app{"One rank of a ppplan run or profile; started by ppplan."};
  app.name("ppplan-worker");
  app.require_subcommand(1);
  Arguments arguments;
  int exit_code = 0;
  executor::Whereabouts whereabouts;
  const auto add = [&](const char* name, const char* help, const std::function<void()>& work) {
    CLI::App* verb = app.add_subcommand(name, help);
    verb->callback([&, work] { exit_code = guarded(arguments, whereabouts, work); });
    return verb;
  };
  const auto with_job = [&](CLI::App* verb) {
    verb->add_option("job", arguments.job, "job.yaml")->required();
    return verb;
  };
  const auto with_rank = [&](CLI::App* verb) {
    verb->add_option("--rank", arguments.rank, "Rank of this process")->required();
    verb->add_option("--listen-fd", arguments.listen_fd, "Inherited socket of the rendezvous");
  };
  with_rank(with_job(add("run", "One rank of a run", [&] { run(arguments, whereabouts); })));
  with_rank(with_job(add("profile", "One worker of a profile", [&] { profile(arguments); })));
  with_job(add("reference", "The single process of a run", [&] { reference(arguments); }));
  CLI::App* check = add("check", "Loss, logits and gradients of a model on given tokens", [&] {
    executor::prepare_process({});
    executor::check_model(load_model_file(arguments.job), arguments.weights, arguments.tokens,
                          arguments.out);
  });
  check->add_option("model", arguments.job, "Model document")->required();
  check->add_option("--weights", arguments.weights, "Folder of *.safetensors")->required();
  check->add_option("--tokens", arguments.tokens, "Token ids, one sample a line")->required();
  check->add_option("--out", arguments.out, "Safetensors file to write")->required();
  add("version", "What this worker computes with",
      [] { std::cout << write_worker_versions(executor::worker_versions()); });
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return static_cast<int>(Failure::kBadInput);
  }
}

}  // namespace
}  // namespace ppplan

int main(int argc, char** argv) {
  return ppplan::main_of_worker(argc, argv);
}
