// Starts local processes that live and die together: when one fails, when the user interrupts, or
// when none has spoken for too long, all are stopped; when this process dies, so do they.
#pragma once

#include "executor/launch/interruption.h"
#include "reports/documents/units.h"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppplan::launch {

/// The number under which a child finds the descriptor it inherits.
inline constexpr int kInheritedDescriptor = 3;

struct ProcessSpec {
  std::vector<std::string> command;  ///< path of the program, then its arguments
  std::optional<int> inherited;      ///< a descriptor that the child sees as kInheritedDescriptor
};

/// How one process ended.
struct ProcessEnd {
  int exit_code = 0;
  std::optional<int> signal;  ///< when a signal ended it; `exit_code` then says nothing
  bool stopped = false;       ///< it ended after this group had told it to
  std::string stderr_tail;    ///< the last 8 KiB of what it wrote there
  Seconds time{0};            ///< when that was seen, by the machine's monotonic clock

  [[nodiscard]] bool succeeded() const { return !signal && exit_code == 0; }
};

enum class GroupEnding {
  kFinished,     ///< every process ended by itself with 0
  kFailed,       ///< at least one failed; the others were stopped
  kSilent,       ///< nobody wrote a line for `silence_limit`
  kInterrupted,  ///< a signal arrived
};

struct WatchOptions {
  Seconds silence_limit{600};
  /// After the first failure: time for its cause to show itself, since a peer that merely lost its
  /// connection may be seen to fail before the one that was killed.
  Seconds settle{0.5};
  /// From the polite SIGTERM to SIGKILL.
  Seconds grace{2.0};
};

struct GroupEnd {
  GroupEnding ending = GroupEnding::kFinished;
  std::vector<ProcessEnd> processes;  ///< in the order of the specs
};

/// A set of running processes. Each leads a process group of its own, reads nothing, and is watched
/// through pipes on its standard output and error.
class ProcessGroup {
 public:
  /// Starts all. Throws Error(kRuntime) naming the program when one cannot be started; the others
  /// are gone then.
  explicit ProcessGroup(const std::vector<ProcessSpec>& specs);
  /// Kills what still runs.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// Called with the index of a process and one line of its standard output (without its end; cut
  /// into pieces beyond 64 KiB).
  using LineReceiver = std::function<void(int process, std::string_view line)>;

  /// Watches until every process has ended. To be called once. An interruption stops the group; a
  /// second one kills it at once.
  GroupEnd wait(const WatchOptions& options, Interruption& interruption,
                const LineReceiver& on_line);

 private:
  struct Process {
    pid_t id = 0;
    int out = -1;
    int error = -1;
    std::string line;  ///< begun on standard output
    std::optional<ProcessEnd> end;
    std::string stderr_tail;
  };
  class Watch;

  void signal_all(int signal);
  void kill_all();

  std::vector<Process> processes_;
};

}  // namespace ppplan::launch
