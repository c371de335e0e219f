#include "executor/launch/workers.h"

#include "executor/launch/diagnosis.h"
#include "executor/launch/worker_lines.h"
#include "reports/documents/error.h"
#include "reports/documents/job.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace ppplan::launch {
namespace {

constexpr std::size_t kAnswerLimit = 64 << 10;

ProcessSpec process_spec(const std::filesystem::path& program, const WorkerCall& call) {
  ProcessSpec spec{.command = {program.string()}, .inherited = call.inherited};
  spec.command.insert(spec.command.end(), call.arguments.begin(), call.arguments.end());
  return spec;
}

std::filesystem::path failure_file(const std::filesystem::path& folder, std::size_t rank) {
  return folder / fmt::format("failure{}.yaml", rank);
}

/// A worker that dies while it writes leaves a file that says nothing: its end tells enough.
std::optional<RankFailure> left_behind(const std::filesystem::path& file) {
  try {
    if (std::filesystem::exists(file)) return load_rank_failure(file);
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

/// Throws unless the group finished. `folder` is where workers leave their failures, if they do.
void require_finished(const GroupEnd& end, const std::vector<WorkerCall>& calls,
                      Seconds silence_limit, const std::optional<std::filesystem::path>& folder) {
  switch (end.ending) {
    case GroupEnding::kFinished:
      return;
    case GroupEnding::kInterrupted:
      throw Error(Failure::kInterrupted, "interrupted", "all workers were stopped");
    case GroupEnding::kSilent:
      throw Error(Failure::kRuntime,
                  fmt::format("no worker gave a sign of life for {:.0f} s: all were stopped",
                              silence_limit.count()),
                  "if a step takes that long on this machine, use a larger --timeout");
    case GroupEnding::kFailed:
      break;
  }
  std::vector<WorkerEnd> workers;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    workers.push_back(
        {.name = calls[rank].name,
         .process = end.processes[rank],
         .failure = folder ? left_behind(failure_file(*folder, rank)) : std::nullopt});
  }
  throw first_failure(workers);
}

}  // namespace

void run_workers(const WorkerPlan& plan, Interruption& interruption, Progress& progress,
                 const std::function<void()>& started) {
  interruption.check();
  std::vector<ProcessSpec> specs;
  for (std::size_t rank = 0; rank < plan.calls.size(); ++rank) {
    specs.push_back(process_spec(plan.program, plan.calls[rank]));
    std::error_code
        ignored;  // one that cannot be removed will be replaced or reported by its writer
    std::filesystem::remove(failure_file(plan.output, rank), ignored);
  }
  WorkerLines lines(progress);
  ProcessGroup group(specs);
  started();
  const GroupEnd end =
      group.wait(plan.watch, interruption,
                 [&lines](int rank, std::string_view line) { lines.receive(rank, line); });
  require_finished(end, plan.calls, plan.watch.silence_limit, plan.output);
}

WorkerVersions ask_versions(const std::filesystem::path& program, Interruption& interruption) {
  const WorkerCall call{.name = "ppplan-worker version", .arguments = {"version"}, .inherited = {}};
  const WatchOptions watch{.silence_limit = Seconds(30)};  // it loads LibTorch and answers
  std::string answer;
  ProcessGroup group({process_spec(program, call)});
  const GroupEnd end = group.wait(watch, interruption, [&answer](int, std::string_view line) {
    if (answer.size() < kAnswerLimit) answer.append(line).append("\n");
  });
  require_finished(end, {call}, watch.silence_limit, std::nullopt);
  return read_worker_versions(answer, call.name);
}

}  // namespace ppplan::launch
