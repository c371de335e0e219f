// A stand-in for a worker in tests of the launcher: it computes nothing and misbehaves as told.
//
//   fake_worker ACT...
//
// Acts are done in order: "say TEXT" prints a line, "warn TEXT" writes one to standard error,
// "exit CODE", "raise SIGNAL", "deaf" ignores SIGTERM, "hang" sleeps for ever, "sleep MS",
// "spawn" leaves a grandchild that holds the pipes, "knock" accepts a connection on descriptor 3,
// "number" prints its process number, "file PATH" creates a file.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace {

constexpr int kInheritedDescriptor = 3;

[[noreturn]] void hang() {
  while (true) pause();
}

void leave_grandchild() {
  if (fork() == 0) hang();
}

}  // namespace

int main(int argc, char** argv) {
  for (int place = 1; place < argc; ++place) {
    const std::string act = argv[place];
    const auto argument = [&] { return std::string(argv[++place]); };
    if (act == "say") {
      std::printf("%s\n", argument().c_str());
      std::fflush(stdout);
    } else if (act == "warn") {
      std::fprintf(stderr, "%s\n", argument().c_str());
    } else if (act == "exit") {
      return std::atoi(argument().c_str());
    } else if (act == "raise") {
      std::raise(std::atoi(argument().c_str()));
    } else if (act == "deaf") {
      std::signal(SIGTERM, SIG_IGN);
    } else if (act == "hang") {
      hang();
    } else if (act == "sleep") {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argument().c_str())));
    } else if (act == "spawn") {
      leave_grandchild();
    } else if (act == "knock") {
      const int connection = accept(kInheritedDescriptor, nullptr, nullptr);
      if (connection < 0) return 1;
    } else if (act == "number") {
      std::printf("%d\n", static_cast<int>(getpid()));
      std::fflush(stdout);
    } else if (act == "file") {
      std::ofstream(argument()) << "there\n";
    } else {
      return 2;
    }
  }
  return 0;
}
