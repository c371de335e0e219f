#include "executor/launch/interruption.h"

#include "reports/documents/error.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ppplan::launch {

Interruption::Interruption() {
  sigset_t caught;
  sigemptyset(&caught);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    sigaddset(&caught, signal);
  }
  pthread_sigmask(SIG_BLOCK, &caught, &previous_);
  descriptor_ = signalfd(-1, &caught, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0) {
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
    throw Error(Failure::kRuntime,
                "cannot watch for signals: " + std::generic_category().message(error));
  }
}

Interruption::~Interruption() {
  // What waits has been answered by ending the work; unblocked, it would end the process now,
  // before the error is reported.
  take();
  ::close(descriptor_);
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

int Interruption::take() {
  int count = 0;
  signalfd_siginfo info{};
  while (::read(descriptor_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) ++count;
  arrived_ = arrived_ || count > 0;
  return count;
}

void Interruption::check() {
  take();
  if (arrived_) throw Error(Failure::kInterrupted, "interrupted", "nothing is left running");
}

}  // namespace ppplan::launch
