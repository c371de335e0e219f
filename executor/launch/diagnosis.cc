#include "executor/launch/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <csignal>
#include <cstring>
#include <tuple>

namespace ppplan::launch {
namespace {

constexpr std::size_t kShownLines = 8;

/// Lower is nearer to the cause.
enum class Suspicion { kKilled, kFailed, kLostPeer, kStopped, kInnocent };

Suspicion suspicion(const WorkerEnd& worker) {
  if (worker.process.succeeded()) return Suspicion::kInnocent;
  if (worker.failure) {
    return worker.failure->caused_by_peer ? Suspicion::kLostPeer : Suspicion::kFailed;
  }
  if (worker.process.stopped) return Suspicion::kStopped;
  return worker.process.signal == SIGKILL ? Suspicion::kKilled : Suspicion::kFailed;
}

double time_s(const WorkerEnd& worker) {
  return worker.failure ? worker.failure->time_s : worker.process.time.count();
}

/// The last lines of what a worker wrote to standard error, fit to be shown.
std::string last_words(const std::string& text) {
  std::string shown = text;
  while (!shown.empty() && shown.back() == '\n') shown.pop_back();
  std::size_t begin = shown.size();
  for (std::size_t line = 0; line < kShownLines && begin != 0 && begin != std::string::npos;
       ++line) {
    begin = shown.rfind('\n', begin - 1);
  }
  if (begin != 0 && begin != std::string::npos && begin < shown.size()) shown.erase(0, begin + 1);
  std::replace_if(
      shown.begin(), shown.end(),
      [](char letter) {
        return letter != '\n' && std::iscntrl(static_cast<unsigned char>(letter));
      },
      '?');
  return shown;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? std::string("unknown") : fmt::format("SIG{}", name);
}

std::string with_last_words(std::string hint, const WorkerEnd& worker) {
  const std::string words = last_words(worker.process.stderr_tail);
  return words.empty() ? hint : fmt::format("{}; it wrote:\n{}", hint, words);
}

Error describe_signal(const WorkerEnd& worker, int signal) {
  const std::string hint =
      signal == SIGKILL
          ? "the system kills processes when memory runs out (see dmesg): plan with a smaller "
            "--memory, or close other programs"
          : "this is a fault of the worker or of LibTorch: please report it with the command line";
  return {Failure::kRuntime,
          fmt::format("{} was killed by signal {} ({})", worker.name, signal, signal_name(signal)),
          with_last_words(hint, worker)};
}

}  // namespace

Error first_failure(const std::vector<WorkerEnd>& workers) {
  const auto first =
      std::min_element(workers.begin(), workers.end(), [](const WorkerEnd& a, const WorkerEnd& b) {
        return std::tuple(suspicion(a), time_s(a)) < std::tuple(suspicion(b), time_s(b));
      });
  assert(first != workers.end() && !first->process.succeeded());
  if (first->failure) {
    const RankFailure& failure = *first->failure;
    const bool bad_input = failure.exit_code == static_cast<int>(Failure::kBadInput);
    return {bad_input ? Failure::kBadInput : Failure::kRuntime,
            fmt::format("{}: {}: {}", first->name, failure.where, failure.message), failure.hint};
  }
  if (first->process.signal) return describe_signal(*first, *first->process.signal);
  return {Failure::kRuntime,
          fmt::format("{} ended with code {} and left no reason", first->name,
                      first->process.exit_code),
          with_last_words("run 'ppplan doctor'", *first)};
}

}  // namespace ppplan::launch
