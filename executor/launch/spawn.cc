#include "executor/launch/spawn.h"

#include "executor/launch/process_group.h"
#include "reports/documents/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace ppplan::launch {
namespace {

constexpr int kChildFailed = 127;

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error(Failure::kRuntime,
              fmt::format("cannot start {}: {}", what, std::generic_category().message(error)));
}

/// An owned descriptor, numbered above those the child will give a meaning.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset();
    number_ = std::exchange(other.number_, -1);
    return *this;
  }

  [[nodiscard]] int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor reading;
  Descriptor writing;
};

Pipe make_pipe(const std::string& what) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(what, errno);
  Pipe low{Descriptor(ends[0]), Descriptor(ends[1])};
  Pipe high{Descriptor(fcntl(ends[0], F_DUPFD_CLOEXEC, kInheritedDescriptor + 1)),
            Descriptor(fcntl(ends[1], F_DUPFD_CLOEXEC, kInheritedDescriptor + 1))};
  if (high.reading.get() < 0 || high.writing.get() < 0) fail(what, errno);
  return high;
}

struct ChildStreams {
  int out = -1;
  int error = -1;
  int failure = -1;  ///< receives errno when the program cannot be executed
  std::optional<int> inherited;
};

bool hand_over(const ChildStreams& streams) {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) return false;
  if (dup2(streams.out, STDOUT_FILENO) < 0 || dup2(streams.error, STDERR_FILENO) < 0) return false;
  if (!streams.inherited) return true;
  // dup2 of a number onto itself would leave it close-on-exec.
  if (*streams.inherited == kInheritedDescriptor) {
    return fcntl(kInheritedDescriptor, F_SETFD, 0) == 0;
  }
  return dup2(*streams.inherited, kInheritedDescriptor) >= 0;
}

/// What the child does between fork and exec; only async-signal-safe calls.
[[noreturn]] void become(char* const* arguments, const ChildStreams& streams, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kChildFailed);  // it died before we could ask to be told
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (hand_over(streams)) execv(arguments[0], arguments);
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(streams.failure, &error, sizeof error);
  _exit(kChildFailed);
}

}  // namespace

SpawnedProcess spawn(const std::vector<std::string>& command, std::optional<int> inherited) {
  const std::string& program = command.front();
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // execv's historical signature
  }
  arguments.push_back(nullptr);
  Pipe out = make_pipe(program);
  Pipe error = make_pipe(program);
  Pipe failure = make_pipe(program);

  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail(program, errno);
  if (child == 0) {
    become(arguments.data(),
           {.out = out.writing.get(),
            .error = error.writing.get(),
            .failure = failure.writing.get(),
            .inherited = inherited},
           parent);
  }
  setpgid(child, child);  // both sides do it: whoever comes first
  failure.writing.reset();
  int exec_error = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure.reading.get(), &exec_error, sizeof exec_error);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof exec_error)) {
    waitpid(child, nullptr, 0);
    fail(program, exec_error);
  }
  for (const Descriptor* end : {&out.reading, &error.reading}) {
    fcntl(end->get(), F_SETFL, O_NONBLOCK);
  }
  return {.id = child, .out = out.reading.release(), .error = error.reading.release()};
}

}  // namespace ppplan::launch
