#include "executor/launch/worker_lines.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace ppplan::launch {
namespace {

constexpr std::size_t kNoteLimit = 50;

bool skip(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// The number at the start of `text`, which is moved behind it and one blank.
std::optional<double> take_number(std::string_view& text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty() && !skip(text, " ")) return std::nullopt;
  return number;
}

}  // namespace

void WorkerLines::receive(int rank, std::string_view line) {
  if (skip(line, "note ")) {
    if (notes_.size() < kNoteLimit && notes_.emplace(line).second) progress_.note(line);
  } else if (rank == 0 && skip(line, "progress ")) {
    const std::optional<double> done = take_number(line);
    const std::optional<double> total = take_number(line);
    if (done && total) progress_.advance(*done, *total, line);
  }
}

}  // namespace ppplan::launch
