// Ctrl-C and its relatives as something a loop can wait for, so that workers are stopped and
// unfinished files removed before the program ends.
#pragma once

#include <csignal>

namespace ppplan::launch {

/// While it lives, SIGINT, SIGTERM and SIGHUP do not end this process but are kept here. Create it
/// on the main thread, before any other thread exists. Signals that were ignored stay ignored
/// (nohup).
class Interruption {
 public:
  /// Throws Error(kRuntime) when the system has no descriptor left.
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Readable (poll) when a signal waits to be taken.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Takes waiting signals and returns how many there were; never blocks.
  int take();
  /// Throws Error(kInterrupted) when a signal has arrived; for places between two pieces of work.
  void check();

 private:
  int descriptor_ = -1;
  bool arrived_ = false;
  sigset_t previous_{};
};

}  // namespace ppplan::launch
