// Where a micro-batch's shape lies among measured shapes: the weights of bilinear interpolation
// over (samples, length), and where that interpolation ends.
#pragma once

#include "reports/documents/batching.h"
#include "reports/documents/units.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppplan::planner {

/// A measured shape with its share in an interpolated one.
struct GridWeight {
  std::size_t point = 0;
  double weight = 0.0;
};

/// Measured shapes: rows of one length each, with the numbers of samples measured at that length.
/// Points are numbered row by row. Values between points are bilinear: equal to the measured ones
/// at the points, and rising wherever those rise. Shorter samples and smaller micro-batches than
/// any measured cost what the smallest measured does; nothing is known beyond the largest.
class ShapeGrid {
 public:
  struct Row {
    std::int64_t length = 0;
    std::vector<int> samples;  ///< rising
  };
  using Weights = std::array<GridWeight, 4>;  ///< they add up to 1

  /// Precondition: there are rows, none is empty, their lengths rise, their most samples never do.
  explicit ShapeGrid(std::vector<Row> rows);

  [[nodiscard]] std::size_t point_count() const { return point_count_; }
  [[nodiscard]] std::int64_t longest() const { return rows_.back().length; }
  /// The most samples of a length that lie within the measured shapes. Precondition: length <=
  /// longest().
  [[nodiscard]] int most_samples(std::int64_t length) const;
  /// The most tokens of a measured shape.
  [[nodiscard]] std::int64_t most_tokens() const;

  /// Precondition: length <= longest(), samples <= most_samples(length). O(log points).
  [[nodiscard]] Weights at(double samples, double length) const;

  /// The shape that tells what a document costs in a row of `tokens`: as many tokens, all in
  /// documents of its length, or, where so many of them were not measured, of the next longer
  /// length that was. A cost of the form a + b tokens + c (sum of squared lengths) is told exactly
  /// by the mean of these over tokens. Precondition: document <= tokens <= most_tokens().
  [[nodiscard]] Weights in_row(std::int64_t document, std::int64_t tokens) const;

 private:
  std::vector<Row> rows_;
  std::vector<std::size_t> first_point_;  ///< by row
  std::size_t point_count_ = 0;
};

/// Times over such a grid.
class TimeSurface {
 public:
  /// Precondition: as ShapeGrid's; as many times as samples in each row.
  explicit TimeSurface(const std::vector<ShapeTimes>& rows);

  [[nodiscard]] const ShapeGrid& grid() const { return grid_; }
  /// Precondition: as ShapeGrid::at.
  [[nodiscard]] Seconds at(int samples, std::int64_t length) const;

 private:
  ShapeGrid grid_;
  std::vector<Seconds> times_;  ///< by point
};

}  // namespace ppplan::planner
