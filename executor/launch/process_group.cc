#include "executor/launch/process_group.h"

#include "executor/launch/spawn.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

namespace ppplan::launch {
namespace {

constexpr std::size_t kLineLimit = 64 << 10;
constexpr std::size_t kTailLimit = 8 << 10;
/// Ends are seen as the hang-up of a pipe; this bounds the wait for those whose pipes outlive them.
constexpr int kPollMilliseconds = 200;

Seconds now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// Appends what can be read now; closes the descriptor and sets it to -1 at its end.
std::string read_available(int& descriptor) {
  std::string text;
  std::array<char, 4096> block{};
  while (descriptor >= 0 && text.size() < kLineLimit) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got > 0) {
      text.append(block.data(), static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && errno == EAGAIN) {
      break;
    } else {
      ::close(descriptor);
      descriptor = -1;
    }
  }
  return text;
}

}  // namespace

/// One call of `wait`: the loop and what it knows.
class ProcessGroup::Watch {
 public:
  Watch(ProcessGroup& group, const WatchOptions& options, Interruption& interruption,
        const LineReceiver& on_line)
      : group_(group), options_(options), interruption_(interruption), on_line_(on_line) {}

  GroupEnd run() {
    last_word_ = now();
    while (any_running()) {
      poll_once();
      for (std::size_t index = 0; index < group_.processes_.size(); ++index) serve(index);
      decide();
    }
    GroupEnd result{.ending = ending_, .processes = {}};
    for (Process& process : group_.processes_) result.processes.push_back(std::move(*process.end));
    return result;
  }

 private:
  [[nodiscard]] bool any_running() const {
    return std::any_of(group_.processes_.begin(), group_.processes_.end(),
                       [](const Process& process) { return !process.end; });
  }

  void poll_once() const {
    std::vector<pollfd> watched{{.fd = interruption_.descriptor(), .events = POLLIN, .revents = 0}};
    for (const Process& process : group_.processes_) {
      // poll() passes over negative descriptors.
      watched.push_back({.fd = process.out, .events = POLLIN, .revents = 0});
      watched.push_back({.fd = process.error, .events = POLLIN, .revents = 0});
    }
    ::poll(watched.data(), watched.size(), kPollMilliseconds);
  }

  /// Reads what a process wrote and sees whether it has ended.
  void serve(std::size_t index) {
    Process& process = group_.processes_[index];
    if (process.end) return;
    // Asked before the last reading, so that nothing written before the end is missed.
    siginfo_t info{};
    const bool ended =
        waitid(P_PID, static_cast<id_t>(process.id), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == process.id;
    take_output(index);
    if (!ended) return;
    // Children of its own go with it, while its number still cannot belong to anybody else.
    ::kill(-process.id, SIGKILL);
    int status = 0;
    while (waitpid(process.id, &status, 0) < 0 && errno == EINTR) {
    }
    if (!process.line.empty()) on_line_(static_cast<int>(index), process.line);
    ProcessEnd end{.exit_code = 0,
                   .signal = {},
                   .stopped = stopping_,
                   .stderr_tail = process.stderr_tail,
                   .time = now()};
    if (WIFSIGNALED(status)) {
      end.signal = WTERMSIG(status);
    } else {
      end.exit_code = WEXITSTATUS(status);
    }
    process.end = std::move(end);
    for (int* descriptor : {&process.out, &process.error}) {
      if (*descriptor >= 0) ::close(*descriptor);
      *descriptor = -1;
    }
  }

  void take_output(std::size_t index) {
    Process& process = group_.processes_[index];
    process.line += read_available(process.out);
    std::size_t begin = 0;
    for (std::size_t end = process.line.find('\n'); end != std::string::npos;
         end = process.line.find('\n', begin)) {
      say(index, std::string_view(process.line).substr(begin, end - begin));
      begin = end + 1;
    }
    process.line.erase(0, begin);
    if (process.line.size() >= kLineLimit) {
      say(index, process.line);
      process.line.clear();
    }
    process.stderr_tail += read_available(process.error);
    if (process.stderr_tail.size() > kTailLimit) {
      process.stderr_tail.erase(0, process.stderr_tail.size() - kTailLimit);
    }
  }

  void say(std::size_t index, std::string_view line) {
    last_word_ = now();
    on_line_(static_cast<int>(index), line);
  }

  void decide() {
    const int interruptions = interruption_.take();
    if (interruptions > 0) {
      if (stopping_ || interruptions > 1) group_.signal_all(SIGKILL);
      stop(GroupEnding::kInterrupted);
    } else if (!stopping_ && now() - last_word_ > options_.silence_limit) {
      stop(GroupEnding::kSilent);
    }
    const bool failed = std::any_of(
        group_.processes_.begin(), group_.processes_.end(),
        [](const Process& process) { return process.end && !process.end->succeeded(); });
    if (failed && !stopping_) {
      ending_ = GroupEnding::kFailed;
      if (!first_failure_) first_failure_ = now();
      if (now() - *first_failure_ >= options_.settle) stop(GroupEnding::kFailed);
    }
    if (stopping_ && now() - stopped_at_ >= options_.grace) group_.signal_all(SIGKILL);
  }

  void stop(GroupEnding ending) {
    if (stopping_) return;
    ending_ = ending;
    stopping_ = true;
    stopped_at_ = now();
    group_.signal_all(SIGTERM);
  }

  ProcessGroup& group_;
  const WatchOptions& options_;
  Interruption& interruption_;
  const LineReceiver& on_line_;
  GroupEnding ending_ = GroupEnding::kFinished;
  Seconds last_word_{0};
  std::optional<Seconds> first_failure_;
  bool stopping_ = false;
  Seconds stopped_at_{0};
};

ProcessGroup::ProcessGroup(const std::vector<ProcessSpec>& specs) {
  processes_.reserve(specs.size());
  try {
    for (const ProcessSpec& spec : specs) {
      const SpawnedProcess spawned = spawn(spec.command, spec.inherited);
      processes_.push_back({.id = spawned.id,
                            .out = spawned.out,
                            .error = spawned.error,
                            .line = {},
                            .end = {},
                            .stderr_tail = {}});
    }
  } catch (...) {
    kill_all();
    throw;
  }
}

ProcessGroup::~ProcessGroup() {
  kill_all();
}

GroupEnd ProcessGroup::wait(const WatchOptions& options, Interruption& interruption,
                            const LineReceiver& on_line) {
  return Watch(*this, options, interruption, on_line).run();
}

void ProcessGroup::signal_all(int signal) {
  for (const Process& process : processes_) {
    if (!process.end) ::kill(-process.id, signal);
  }
}

void ProcessGroup::kill_all() {
  signal_all(SIGKILL);
  for (Process& process : processes_) {
    if (process.end) continue;
    while (waitpid(process.id, nullptr, 0) < 0 && errno == EINTR) {
    }
    for (const int descriptor : {process.out, process.error}) {
      if (descriptor >= 0) ::close(descriptor);
    }
  }
  processes_.clear();
}

}  // namespace ppplan::launch
