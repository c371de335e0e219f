// Largest value of any run of a fixed sequence, in constant time.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ppplan::planner {

/// Sparse table: row k holds the maxima of all runs of 2^k values. O(n log n) time and space to
/// build. Source: Bender and Farach-Colton, "The LCA problem revisited" (LATIN 2000), section 3.
class RangeMaximum {
 public:
  explicit RangeMaximum(std::vector<std::int64_t> values) {
    rows_.push_back(std::move(values));
    const std::size_t count = rows_.front().size();
    for (std::size_t half = 1; 2 * half <= count; half *= 2) {
      const std::vector<std::int64_t>& below = rows_.back();
      std::vector<std::int64_t> row(count - 2 * half + 1);
      for (std::size_t at = 0; at < row.size(); ++at) {
        row[at] = std::max(below[at], below[at + half]);
      }
      rows_.push_back(std::move(row));
    }
  }

  /// Largest of values [first, last). Precondition: first < last.
  [[nodiscard]] std::int64_t at(std::size_t first, std::size_t last) const {
    assert(first < last);
    const auto level = static_cast<std::size_t>(std::bit_width(last - first) - 1);
    const std::vector<std::int64_t>& row = rows_[level];
    return std::max(row[first], row[last - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<std::int64_t>> rows_;
};

}  // namespace ppplan::planner
