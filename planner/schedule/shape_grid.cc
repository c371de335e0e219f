#include "planner/schedule/shape_grid.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace ppplan::planner {
namespace {

/// Between which two neighbours a value lies: `low + share` of the way to `low + 1`.
struct Place {
  std::size_t low = 0;
  double share = 0.0;
};

/// Precondition: `value` is at most the last of `rising`. Values below the first count as it.
template <typename Number>
Place place(const std::vector<Number>& rising, double value) {
  const auto high = std::ranges::lower_bound(
      rising, value, {}, [](Number number) { return static_cast<double>(number); });
  assert(high != rising.end());
  if (high == rising.begin()) return {};
  const auto low = std::prev(high);
  return {static_cast<std::size_t>(low - rising.begin()),
          (value - static_cast<double>(*low)) / static_cast<double>(*high - *low)};
}

std::vector<ShapeGrid::Row> rows_of(const std::vector<ShapeTimes>& times) {
  std::vector<ShapeGrid::Row> rows;
  for (const ShapeTimes& row : times) rows.push_back({row.length, row.samples});
  return rows;
}

}  // namespace

ShapeGrid::ShapeGrid(std::vector<Row> rows) : rows_(std::move(rows)) {
  assert(!rows_.empty());
  for (const Row& row : rows_) {
    assert(!row.samples.empty());
    first_point_.push_back(point_count_);
    point_count_ += row.samples.size();
  }
}

int ShapeGrid::most_samples(std::int64_t length) const {
  const auto row = std::ranges::lower_bound(rows_, length, {}, &Row::length);
  assert(row != rows_.end());
  return row->samples.back();
}

std::int64_t ShapeGrid::most_tokens() const {
  std::int64_t most = 0;
  for (const Row& row : rows_) most = std::max(most, row.length * row.samples.back());
  return most;
}

ShapeGrid::Weights ShapeGrid::at(double samples, double length) const {
  const auto high = std::ranges::lower_bound(
      rows_, length, {}, [](const Row& row) { return static_cast<double>(row.length); });
  assert(high != rows_.end());
  const bool between = high != rows_.begin() && static_cast<double>(high->length) > length;
  const auto low = between ? std::prev(high) : high;
  const double share = between ? (length - static_cast<double>(low->length)) /
                                     static_cast<double>(high->length - low->length)
                               : 0.0;
  Weights weights;
  std::size_t next = 0;
  const auto add = [&](const Row& row, double weight) {
    const auto [column, part] = place(row.samples, samples);
    const std::size_t point = first_point_[static_cast<std::size_t>(&row - rows_.data())] + column;
    weights[next++] = {point, weight * (1.0 - part)};
    weights[next++] = {part > 0.0 ? point + 1 : point, weight * part};
  };
  add(*low, 1.0 - share);
  add(*high, share);
  return weights;
}

ShapeGrid::Weights ShapeGrid::in_row(std::int64_t document, std::int64_t tokens) const {
  assert(document <= tokens);
  const auto total = static_cast<double>(tokens);
  auto length = static_cast<double>(std::max(document, rows_.front().length));
  for (const Row& row : rows_) {
    const auto longest = static_cast<double>(row.length);
    if (longest < length) continue;
    const auto most = static_cast<double>(row.samples.back());
    if (total <= most * longest) {
      length = std::clamp(total / most, length, longest);
      return at(std::min(most, total / length), length);
    }
    length = longest;
  }
  assert(false);  // more tokens than were measured in any shape
  return {};
}

TimeSurface::TimeSurface(const std::vector<ShapeTimes>& rows) : grid_(rows_of(rows)) {
  for (const ShapeTimes& row : rows)
    times_.insert(times_.end(), row.times.begin(), row.times.end());
}

Seconds TimeSurface::at(int samples, std::int64_t length) const {
  Seconds time{0};
  for (const auto& [point, weight] : grid_.at(samples, static_cast<double>(length))) {
    time += times_[point] * weight;
  }
  return time;
}

}  // namespace ppplan::planner
