// Files of sample lengths: one number of tokens a line, or a column of a CSV file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppplan {

/// The longest sample and the most samples of a file of lengths.
inline constexpr std::int64_t kLongestSample = 1'000'000'000;
inline constexpr std::size_t kMostSamples = 16'000'000;

/// Lengths in file order, each from 1 to kLongestSample. Without `column`: one whole number a line.
/// With it: the column of that name of comma-separated values (RFC 4180), whose first record names
/// the columns. Empty lines are passed over. `name` is what messages call the file. Throws
/// Error(kBadInput) "name:line:column: key: expected ..., found ...", also when there are no
/// lengths or more than kMostSamples. O(size).
std::vector<std::int64_t> read_lengths(std::string_view text, const std::string& name,
                                       const std::optional<std::string>& column = std::nullopt);

}  // namespace ppplan
