#include "reports/documents/units.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace ppplan {
namespace {

/// `value` scaled to the largest unit in which it still shows at least 1: (0.0125 s) -> "12.5 ms".
/// Units ascend by `step`; `digits` gives the decimals of each.
template <std::size_t N>
std::string scaled(double value, double step, const std::array<const char*, N>& units,
                   const std::array<int, N>& digits) {
  std::size_t unit = 0;
  // Rounded first, so that 999.96 us shows as 1.0 ms and not as 1000.0 us.
  const auto shown = [&] {
    return std::round(std::abs(value) * std::pow(10.0, digits[unit])) /
           std::pow(10.0, digits[unit]);
  };
  while (unit + 1 < N && shown() >= step) {
    value /= step;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, digits[unit], units[unit]);
}

}  // namespace

std::string human(Seconds time) {
  const double s = time.count();
  if (s == 0.0) return "0 s";
  return scaled<3>(s * 1e6, 1e3, {" us", " ms", " s"}, {1, 1, 2});
}

std::string human(Bytes size) {
  return scaled<6>(static_cast<double>(size.count), 1024.0,
                   {" B", " KiB", " MiB", " GiB", " TiB", " PiB"}, {0, 1, 1, 2, 2, 2});
}

std::string human(BytesPerSecond rate) {
  return scaled<5>(rate.value, 1e3, {" B/s", " kB/s", " MB/s", " GB/s", " TB/s"}, {0, 1, 1, 1, 1});
}

std::string human_count(double count) {
  constexpr std::array kUnits = {"", " K", " M", " B", " T", " P"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && std::abs(count) >= 999.95) {
    if (unit == 0 && std::abs(count) < 1e3 && count == std::floor(count)) break;
    count /= 1e3;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.4g}", count);
  return fmt::format("{:.{}f}{}", count, std::abs(count) < 9.995 ? 2 : 1, kUnits[unit]);
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  // At most one fraction: digits [. digits], then the unit.
  double number = 0.0;
  const char* const end = text.data() + text.size();
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0)
    return std::nullopt;
  const auto [stop, code] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (code != std::errc{}) return std::nullopt;
  std::string unit;
  for (const char* c = stop; c != end; ++c) {
    if (*c == ' ' && unit.empty()) continue;
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  }
  double scale = 1.0;
  if (!unit.empty() && unit != "b") {
    constexpr std::string_view kPrefixes = "kmgtpe";
    const std::size_t prefix = kPrefixes.find(unit.front());
    const std::string_view rest = std::string_view(unit).substr(1);
    if (prefix == std::string_view::npos ||
        (!rest.empty() && rest != "b" && rest != "ib" && rest != "i"))
      return std::nullopt;
    scale = std::pow(rest.starts_with('i') ? 1024.0 : 1000.0, static_cast<double>(prefix + 1));
  }
  if (unit.empty() || unit == "b") {
    std::int64_t count = 0;
    const auto whole = std::from_chars(text.data(), end, count);
    if (whole.ptr != stop || whole.ec != std::errc{})
      return std::nullopt;  // half a byte, or too many
    return Bytes{count};
  }
  const double bytes = std::round(number * scale);
  if (!(bytes < 9223372036854775808.0)) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(bytes)};
}

}  // namespace ppplan
