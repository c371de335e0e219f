// A stand-in for ppplan-worker in tests of the launcher and of the command line: it computes
// nothing, speaks the worker's protocol (job.h), and misbehaves as told.
//
// With a worker's command line it answers as a worker; the variable PPPLAN_FAKE then names one
// fault:
//   kill:R       rank R is killed by SIGKILL, and the others lose their peer
//   fail:R       rank R leaves a failure and ends with 1
//   hang         every rank waits for ever
//   gradients:X  gradients are X times the reference's
// With "act" it does acts in order (tests of the process group):
//   say TEXT, warn TEXT (standard error), exit CODE, raise SIGNAL, deaf (ignores SIGTERM), hang,
//   sleep MS, spawn (leaves a grandchild that holds the pipes), knock (accepts a connection on
//   descriptor 3), number (prints its process number)
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/job.h"
#include "reports/documents/profile.h"
#include "reports/documents/run_report.h"
#include "reports/documents/worker_versions.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace ppplan {
namespace {

constexpr int kInheritedDescriptor = 3;

using Words = std::vector<std::string>;

[[noreturn]] void hang() {
  while (true) pause();
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void nap(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

int act(const Words& words) {
  for (std::size_t place = 0; place < words.size(); ++place) {
    const std::string& word = words[place];
    const auto argument = [&] { return words.at(++place); };
    if (word == "say") {
      say(argument());
    } else if (word == "warn") {
      std::fprintf(stderr, "%s\n", argument().c_str());
    } else if (word == "exit") {
      return std::stoi(argument());
    } else if (word == "raise") {
      std::raise(std::stoi(argument()));
    } else if (word == "deaf") {
      std::signal(SIGTERM, SIG_IGN);
    } else if (word == "hang") {
      hang();
    } else if (word == "sleep") {
      nap(std::stoi(argument()));
    } else if (word == "spawn") {
      if (fork() == 0) hang();
    } else if (word == "knock") {
      if (accept(kInheritedDescriptor, nullptr, nullptr) < 0) return 1;
    } else if (word == "number") {
      say(fmt::format("{}", getpid()));
    } else {
      return 2;
    }
  }
  return 0;
}

/// The argument of a fault, "" when another fault or none is asked for.
std::string fault(const std::string& name) {
  const char* value = std::getenv("PPPLAN_FAKE");
  const std::string wish = value == nullptr ? "" : value;
  return wish.starts_with(name + ":") ? wish.substr(name.size() + 1) : "";
}

std::filesystem::path process_file(const std::string& folder, const std::string& rank) {
  return std::filesystem::path(folder) / ("process" + rank);
}

int leave_failure(const RunJob& job, int rank, const std::string& message, bool caused_by_peer) {
  const Seconds now = std::chrono::steady_clock::now().time_since_epoch();
  const RankFailure failure{.rank = rank,
                            .where = fmt::format("stage {}, 1F0", rank),
                            .message = message,
                            .hint = "this is a test",
                            .exit_code = 1,
                            .time_s = now.count(),
                            .caused_by_peer = caused_by_peer};
  OutputFile(std::filesystem::path(job.output) / fmt::format("failure{}.yaml", rank))
      .commit(write_rank_failure(failure));
  return failure.exit_code;
}

/// Waits until the process of that rank has started and is gone.
void wait_for_death(const RunJob& job, const std::string& rank) {
  while (!std::filesystem::exists(process_file(job.output, rank))) nap(1);
  const auto process = static_cast<pid_t>(std::stol(read_file(process_file(job.output, rank))));
  while (::kill(process, 0) == 0) nap(1);
}

RankReport report(const RunJob& job, int rank) {
  RankReport result;
  result.rank = rank;
  result.stage = rank;
  result.forward = Seconds(0.25);
  result.backward = Seconds(0.5);
  result.communication = Seconds(0.01);
  result.optimizer = Seconds(0.02);
  result.idle = Seconds(0.1);
  result.peak = Bytes{1000};
  result.resident = Bytes{2000};
  const auto steps = static_cast<std::size_t>(job.step_count + job.warmup_step_count);
  result.step_s.assign(steps, 1.0);
  if (rank == 1) result.losses.assign(steps, 5.0);
  if (job.verify) {
    const std::string ratio = fault("gradients");
    const double worst_ratio = ratio.empty() ? 1.0 : std::stod(ratio);
    result.gradients = GradientCheck{.parameter_count = 4,
                                     .worst = worst_ratio - 1.0,
                                     .worst_name = "lm_head.weight",
                                     .worst_ratio = worst_ratio,
                                     .tolerance = job.tolerance,
                                     .passed = worst_ratio == 1.0};
  }
  return result;
}

int run(const std::string& job_file, int rank) {
  const RunJob job = load_run_job(job_file);
  const std::string name = fmt::format("{}", rank);
  OutputFile(process_file(job.output, name)).commit(fmt::format("{}\n", getpid()));
  say("progress 1 2 step 1");
  say("note all ranks say this");
  if (fault("kill") == name) {
    std::raise(SIGKILL);
  } else if (!fault("kill").empty()) {
    wait_for_death(job, fault("kill"));
    return leave_failure(job, rank, "connection closed by peer", true);
  }
  if (fault("fail") == name) return leave_failure(job, rank, "no such luck", false);
  if (!fault("hang").empty()) hang();
  OutputFile(std::filesystem::path(job.output) / fmt::format("rank{}.yaml", rank))
      .commit(write_rank_report(report(job, rank)));
  return 0;
}

int reference(const std::string& job_file) {
  const RunJob job = load_run_job(job_file);
  const ReferenceReport report{
      .loss = 5.0, .token_count = 40, .step = Seconds(1), .peak = Bytes{3000}};
  OutputFile(std::filesystem::path(job.output) / "reference.safetensors").commit("gradients");
  OutputFile(std::filesystem::path(job.output) / "reference.yaml")
      .commit(write_reference_report(report));
  return 0;
}

Kernels kernels() {
  return {.torch = "2.11.0",
          .attention = "math",
          .blas = "none",
          .precision = "float32",
          .threads = 1,
          .pinned = true};
}

int profile(const std::string& job_file, int rank) {
  const ProfileJob job = load_profile_job(job_file);
  say("progress 1 2 block");
  if (rank != 0) return 0;
  Profile result;
  result.tool_version = PPPLAN_VERSION;
  result.input_sha256 = job.input_sha256;
  result.model = job.model;
  result.kernels = kernels();
  result.target_spread = job.target_spread;
  const Timing timing{.median = Seconds(0.01), .spread = 0.02, .repeats = 5};
  for (std::size_t worker = 0; worker < job.workers.size(); ++worker) {
    result.devices.push_back(
        {.name = "pretend", .type = "cpu", .id = "", .memory = Bytes{1 << 30}});
  }
  for (int kind = 0; kind < static_cast<int>(job.model.kinds.size()); ++kind) {
    for (const int micro_batch : job.micro_batches) {
      Measurement row;
      row.kind = kind;
      row.micro_batch = micro_batch;
      row.sequence = job.sequences.front();
      row.forward = row.backward = row.backward_input = row.backward_weight = timing;
      row.stable = micro_batch != 1;
      result.measurements.push_back(row);
    }
    result.optimizer.push_back({.kind = kind,
                                .concurrent_workers = 1,
                                .step = timing,
                                .parameters = Bytes{4},
                                .gradients = Bytes{4},
                                .optimizer_state = Bytes{8}});
  }
  result.links.push_back({.name = "loopback",
                          .backend = "gloo",
                          .latency = Seconds(0.001),
                          .bandwidth = BytesPerSecond{1e9},
                          .fit_error = 0.1,
                          .samples = {}});
  OutputFile(std::filesystem::path(job.output) / "profile.yaml").commit(write_profile(result));
  return 0;
}

int version() {
  WorkerVersions versions;
  versions.tool_version = PPPLAN_VERSION;
  versions.torch = "2.11.0";
  versions.kernels = kernels();
  std::fputs(write_worker_versions(versions).c_str(), stdout);
  return 0;
}

int answer(const Words& words) {
  const std::string& verb = words.at(0);
  const auto rank = [&] { return std::stoi(words.at(3)); };  // run JOB --rank R
  if (verb == "act") return act({words.begin() + 1, words.end()});
  if (verb == "version") return version();
  if (verb == "run") return run(words.at(1), rank());
  if (verb == "reference") return reference(words.at(1));
  if (verb == "profile") return profile(words.at(1), rank());
  return 2;
}

}  // namespace
}  // namespace ppplan

int main(int argc, char** argv) {
  try {
    return ppplan::answer({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake worker: %s\n", error.what());
    return 1;
  }
}
