#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

namespace ppplan::cli {
namespace {

constexpr int kBarWidth = 24;
/// Before this much time has passed, a remaining time would be a guess.
constexpr Seconds kSettled{1.0};

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& letter : shown) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7f) letter = '?';
  }
  return shown;
}

bool is_continuation(char letter) {
  return (static_cast<unsigned char>(letter) & 0xc0) == 0x80;
}

/// The first `columns` characters, taking each UTF-8 sequence as one column.
std::string cut(const std::string& text, int columns) {
  int used = 0;
  for (std::size_t place = 0; place < text.size(); ++place) {
    if (is_continuation(text[place])) continue;
    if (used == columns) return text.substr(0, place);
    ++used;
  }
  return text;
}

std::string clock_text(Seconds time) {
  const auto total = static_cast<long long>(std::min(std::ceil(time.count()), 359999.0));
  if (total < 3600) return fmt::format("{}:{:02}", total / 60, total % 60);
  return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

}  // namespace

std::string bar_line(const BarState& state, int columns) {
  const double fraction = std::clamp(state.fraction, 0.0, 1.0);
  const int filled = static_cast<int>(fraction * kBarWidth);
  std::string bar(static_cast<std::size_t>(filled), '=');
  if (filled < kBarWidth) bar += '>';
  bar.resize(kBarWidth, ' ');
  // Rounded down: 100 % is shown when the work is done, not before.
  std::string line =
      fmt::format("{} [{}] {:3} %", printable(state.what), bar, static_cast<int>(fraction * 100));
  if (state.remaining) line += fmt::format(", {} left", clock_text(*state.remaining));
  if (!state.detail.empty()) line += ", " + printable(state.detail);
  return cut(line, std::max(columns, 1));
}

ProgressBar::ProgressBar(ProgressBarOptions options) : options_(std::move(options)) {}

ProgressBar::~ProgressBar() {
  clear();
}

void ProgressBar::start(std::string_view what, double /*total*/) {
  clear();
  state_ = {.what = std::string(what), .detail = {}, .fraction = 0.0, .remaining = {}};
  running_ = true;
  started_ = options_.now();
  draw();
}

void ProgressBar::advance(double done, double total, std::string_view detail) {
  if (!running_) return;
  state_.fraction = total > 0.0 ? std::clamp(done / total, 0.0, 1.0) : 0.0;
  state_.detail = detail;
  const Seconds elapsed = options_.now() - started_;
  state_.remaining.reset();
  if (elapsed >= kSettled && state_.fraction > 0.0) {
    state_.remaining = elapsed * ((1.0 - state_.fraction) / state_.fraction);
  }
  if (!drawn_ || options_.now() - last_drawing_ >= options_.redraw_interval) draw();
}

void ProgressBar::finish() {
  clear();
  running_ = false;
}

void ProgressBar::note(std::string_view line) {
  clear();
  write(printable(line) + "\n");
  if (running_) draw();
}

void ProgressBar::draw() {
  if (!options_.terminal) return;
  // One column stays free: some terminals wrap when the last one is written.
  write("\r\x1b[K" + bar_line(state_, options_.columns() - 1));
  drawn_ = true;
  last_drawing_ = options_.now();
}

void ProgressBar::clear() {
  if (drawn_) write("\r\x1b[K");
  drawn_ = false;
}

void ProgressBar::write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = ::write(options_.descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace ppplan::cli
