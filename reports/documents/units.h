// Units: the only way a time, a size or a rate crosses a header in ppplan.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ppplan {

/// A duration. Stored in seconds as double; files always hold seconds.
using Seconds = std::chrono::duration<double>;

/// A size in bytes. Never negative in a file; differences may be.
struct Bytes {
  std::int64_t count = 0;

  auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) { return count += other.count, *this; }
  constexpr Bytes& operator-=(Bytes other) { return count -= other.count, *this; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return {a.count * n}; }
};

/// A transfer rate in bytes per second (not bits, not GiB).
struct BytesPerSecond {
  double value = 0;

  auto operator<=>(const BytesPerSecond&) const = default;
};

constexpr Seconds operator/(Bytes size, BytesPerSecond rate) {
  return Seconds(static_cast<double>(size.count) / rate.value);
}

/// For people only: "12.5 ms", "1.50 GiB", "1.2 GB/s". Files use raw SI numbers.
std::string human(Seconds time);
std::string human(Bytes size);
std::string human(BytesPerSecond rate);

/// For people only: 134515008 -> "134.5 M". Three to four significant digits; K, M, B, T, P are
/// thousand, million, billion, trillion and 10^15.
std::string human_count(double count);

/// Reads "8GiB", "512 MiB", "2GB", "1048576": binary and decimal prefixes, any case, at most one
/// fraction ("1.5GiB"). Empty when the text is no size, is negative, or does not fit 63 bits.
std::optional<Bytes> parse_bytes(std::string_view text);

}  // namespace ppplan
