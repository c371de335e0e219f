#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace ppplan::tests {
namespace {

bool updating() {
  const char* wish = std::getenv("PPPLAN_UPDATE_GOLDEN");
  return wish != nullptr && std::string_view(wish) == "1";
}

/// Empty when there is no such file.
std::optional<std::string> content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void write(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  REQUIRE_MESSAGE(file.flush().good(), "cannot write " << path.string());
}

/// The line of `text` that holds byte `at`.
std::string line_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return "(end of text)";
  const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return std::string(text.substr(begin, text.find('\n', at) - begin));
}

}  // namespace

void check_golden(std::string_view text, const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(PPPLAN_TEST_ROOT) / "golden" / name;
  const std::optional<std::string> golden = content(path);
  if (golden == text) return;
  if (updating()) {
    write(path, text);
    MESSAGE("golden file written: " << path.string());
    return;
  }
  if (!golden) {
    FAIL_CHECK("no golden file " << name << "; write it with PPPLAN_UPDATE_GOLDEN=1");
    return;
  }
  const auto difference = std::mismatch(golden->begin(), golden->end(), text.begin(), text.end());
  const auto at = static_cast<std::size_t>(difference.first - golden->begin());
  FAIL_CHECK("tests/golden/" << name << ":"
                             << 1 + std::count(golden->begin(), difference.first, '\n')
                             << ": expected \"" << line_at(*golden, at) << "\", found \""
                             << line_at(text, at)
                             << "\"; if that is right, update it with PPPLAN_UPDATE_GOLDEN=1");
}

}  // namespace ppplan::tests
