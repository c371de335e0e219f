#include "cli/shell.h"

#include "cli/progress_bar.h"
#include "reports/documents/error.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace ppplan::cli {
namespace {

constexpr int kBarColumns = 80;     // where the terminal does not say
constexpr int kTableColumns = 100;  // where there is no terminal
constexpr int kLeastColumns = 40;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

int terminal_columns(int descriptor, int otherwise) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
  return std::max<int>(size.ws_col, kLeastColumns);
}

Seconds monotonic_time() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

bool Shell::colored_output() const {
  if (color_wish != ColorWish::kAuto) return color_wish == ColorWish::kAlways;
  // https://no-color.org: present and not empty, whatever its value.
  return environment("NO_COLOR").empty() && environment("TERM") != "dumb" &&
         isatty(STDOUT_FILENO) == 1;
}

render::TableOptions Shell::table_options() const {
  return {.width = static_cast<std::size_t>(terminal_columns(STDOUT_FILENO, kTableColumns)),
          .style = colored_output() ? render::Style::kColored : render::Style::kPlain};
}

bool Shell::watched() const {
  return isatty(STDERR_FILENO) == 1;
}

std::unique_ptr<Progress> Shell::progress() const {
  return std::make_unique<ProgressBar>(
      ProgressBarOptions{.descriptor = STDERR_FILENO,
                         .terminal = watched() && environment("TERM") != "dumb",
                         .now = monotonic_time,
                         .columns = [] { return terminal_columns(STDERR_FILENO, kBarColumns); }});
}

void prepare_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    // open() takes the lowest free number, which is the closed one.
    if (fcntl(descriptor, F_GETFD) == -1 && open("/dev/null", O_RDWR) != descriptor) return;
  }
}

void print(const std::string& text) {
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return;  // the reader (head, less) has seen enough
    } else if (errno != EINTR) {
      throw Error(Failure::kRuntime,
                  "standard output: cannot write: " + std::generic_category().message(errno),
                  "check the disk's free space, or where the output goes");
    }
  }
}

}  // namespace ppplan::cli
