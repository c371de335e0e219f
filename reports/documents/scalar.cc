#include "reports/documents/scalar.h"

#include "reports/documents/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

namespace ppplan {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

/// from_chars takes no plus sign, and takes "inf" and "nan", which are words here.
std::optional<std::string_view> decimal(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  const bool starts_number =
      first < text.size() && (text[first] == '.' || (text[first] >= '0' && text[first] <= '9'));
  if (!starts_number) return std::nullopt;
  return text;
}

}  // namespace

std::optional<std::int64_t> to_integer(std::string_view text) {
  const auto digits = decimal(text);
  if (!digits) return std::nullopt;
  std::int64_t value = 0;
  const char* const end = digits->data() + digits->size();
  const auto [stop, code] = std::from_chars(digits->data(), end, value);
  if (stop == end && code == std::errc{}) return value;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const auto number = to_number(text);
  if (!number || std::abs(*number) > kExact || *number != std::trunc(*number)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<double> to_number(std::string_view text) {
  const auto digits = decimal(text);
  if (!digits) return std::nullopt;
  double value = 0.0;
  const char* const end = digits->data() + digits->size();
  const auto [stop, code] = std::from_chars(digits->data(), end, value);
  if (stop != end || code != std::errc{}) return std::nullopt;
  return value;
}

std::optional<double> to_any_number(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  using Words = std::array<std::string_view, 4>;
  if (is_one_of(text, Words{".inf", ".Inf", ".INF", "Infinity"})) return kInfinity;
  if (is_one_of(text, Words{"-.inf", "-.Inf", "-.INF", "-Infinity"})) return -kInfinity;
  if (is_one_of(text, Words{".nan", ".NaN", ".NAN", "NaN"}))
    return std::numeric_limits<double>::quiet_NaN();
  return to_number(text);
}

std::optional<bool> to_boolean(std::string_view text) {
  using Words = std::array<std::string_view, 3>;
  if (is_one_of(text, Words{"true", "True", "TRUE"})) return true;
  if (is_one_of(text, Words{"false", "False", "FALSE"})) return false;
  return std::nullopt;
}

bool has_other_type(std::string_view text) {
  return to_any_number(text).has_value() || to_boolean(text).has_value();
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kSequence:
      return "a list";
    case Node::Kind::kMapping:
      return "a mapping";
    case Node::Kind::kScalar:
      break;
  }
  if (node.quoted) return fmt::format("the text \"{}\"", excerpt(node.scalar));
  return node.scalar.empty() ? "nothing" : excerpt(node.scalar);
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the dynamic programme: row[j] is the distance of a's prefix and b's first j characters.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace ppplan
