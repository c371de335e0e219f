#include "profiler/environment/system_files.h"

#include <charconv>
#include <fstream>

namespace ppplan::profiler {
namespace {

constexpr std::streamsize kLimit = 64 << 10;

}  // namespace

std::optional<std::string> read_system_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(static_cast<std::size_t>(kLimit), '\0');
  file.read(text.data(), kLimit);
  if (file.bad()) return std::nullopt;
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::optional<std::int64_t> leading_number(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::string> value_of(const std::string& text, std::string_view key) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (line.starts_with(key)) return std::string(line.substr(key.size()));
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace ppplan::profiler
