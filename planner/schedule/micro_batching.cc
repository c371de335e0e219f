#include "planner/schedule/micro_batching.h"

#include "planner/schedule/dynamic_batching.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

namespace ppplan::planner {
namespace {

using Lengths = std::span<const std::int64_t>;

void check_lengths(Lengths lengths, std::int64_t longest) {
  for (std::size_t sample = 0; sample < lengths.size(); ++sample) {
    if (lengths[sample] >= 1 && lengths[sample] <= longest) continue;
    throw Error(Failure::kBadInput,
                fmt::format("sample {}: expected 1 to {} tokens, as planned, found {}", sample,
                            longest, lengths[sample]),
                "plan again for the lengths there are: ppplan partition --lengths FILE");
  }
}

/// Samples padded to `row_length`.
MicroBatch padded(Lengths lengths, std::span<const int> samples, std::int64_t row_length) {
  MicroBatch made{.samples = {samples.begin(), samples.end()},
                  .row_count = static_cast<int>(samples.size()),
                  .row_length = row_length,
                  .tokens = 0};
  for (const int sample : samples) made.tokens += lengths[static_cast<std::size_t>(sample)];
  return made;
}

/// `samples` in portions of at most `size`.
void append_portions(Lengths lengths, std::span<const int> samples, int size,
                     std::int64_t row_length, std::vector<MicroBatch>& made) {
  while (!samples.empty()) {
    const std::size_t count = std::min(samples.size(), static_cast<std::size_t>(size));
    made.push_back(padded(lengths, samples.first(count), row_length));
    samples = samples.subspan(count);
  }
}

std::vector<int> in_given_order(Lengths lengths) {
  std::vector<int> samples(lengths.size());
  std::iota(samples.begin(), samples.end(), 0);
  return samples;
}

/// Of samples equally long the first given comes first.
std::vector<int> by_rising_length(Lengths lengths) {
  std::vector<int> samples = in_given_order(lengths);
  std::ranges::stable_sort(samples, {},
                           [&](int sample) { return lengths[static_cast<std::size_t>(sample)]; });
  return samples;
}

std::vector<MicroBatch> make_padded(Lengths lengths, int micro_batch) {
  std::vector<MicroBatch> made;
  append_portions(lengths, in_given_order(lengths), micro_batch, std::ranges::max(lengths), made);
  return made;
}

std::vector<MicroBatch> make_bucketed(Lengths lengths, const std::vector<LengthBucket>& buckets) {
  std::vector<std::vector<int>> members(buckets.size());
  for (const int sample : in_given_order(lengths)) {
    const auto bucket = std::ranges::lower_bound(buckets, lengths[static_cast<std::size_t>(sample)],
                                                 {}, &LengthBucket::length);
    members[static_cast<std::size_t>(bucket - buckets.begin())].push_back(sample);
  }
  std::vector<MicroBatch> made;
  for (std::size_t at = 0; at < buckets.size(); ++at) {
    append_portions(lengths, members[at], buckets[at].samples, buckets[at].length, made);
  }
  return made;
}

/// Finds the first of many rows with enough room: a tree of the rows' largest room.
class RoomTree {
 public:
  RoomTree(std::size_t row_count, std::int64_t room)
      : leaf_count_(std::bit_ceil(std::max<std::size_t>(1, row_count))),
        room_(2 * leaf_count_, room) {}

  /// Takes `tokens` from the first row that has them. Precondition: one does. O(log rows).
  std::size_t take(std::int64_t tokens) {
    std::size_t node = 1;
    while (node < leaf_count_) node = 2 * node + (room_[2 * node] >= tokens ? 0 : 1);
    const std::size_t row = node - leaf_count_;
    room_[node] -= tokens;
    for (node /= 2; node > 0; node /= 2)
      room_[node] = std::max(room_[2 * node], room_[2 * node + 1]);
    return row;
  }

 private:
  std::size_t leaf_count_;
  std::vector<std::int64_t> room_;  ///< [node], root at 1
};

std::vector<MicroBatch> make_packed(Lengths lengths, std::int64_t max_tokens) {
  std::vector<int> samples = by_rising_length(lengths);
  std::ranges::stable_sort(samples, std::ranges::greater(),
                           [&](int sample) { return lengths[static_cast<std::size_t>(sample)]; });
  std::vector<MicroBatch> made;
  std::vector<MicroBatch> rows;
  RoomTree room(lengths.size(), max_tokens);
  for (const int sample : samples) {
    const std::int64_t tokens = lengths[static_cast<std::size_t>(sample)];
    MicroBatch* row = nullptr;
    if (tokens > max_tokens) {
      row = &made.emplace_back();
    } else {
      const std::size_t at = room.take(tokens);
      if (at == rows.size()) rows.emplace_back();
      row = &rows[at];
    }
    row->samples.push_back(sample);
    row->tokens += tokens;
  }
  std::ranges::move(rows, std::back_inserter(made));
  for (MicroBatch& row : made) {
    row.row_count = 1;
    row.row_length = row.tokens;
  }
  return made;
}

std::vector<MicroBatch> make_dynamic(Lengths lengths, const Batching& batching, int rank_count) {
  const std::vector<int> samples = by_rising_length(lengths);
  std::vector<std::int64_t> sorted;
  for (const int sample : samples) sorted.push_back(lengths[static_cast<std::size_t>(sample)]);
  const SampleRuns runs =
      divide_samples(sorted, TimeSurface(batching.times), batching.max_tokens, rank_count);
  std::vector<MicroBatch> made;
  std::size_t first = 0;
  for (const std::size_t end : runs.ends) {
    made.push_back(
        padded(lengths, std::span(samples).subspan(first, end - first), sorted[end - 1]));
    first = end;
  }
  return made;
}

std::vector<MicroBatch> make(Lengths lengths, const Batching& batching, int rank_count) {
  switch (batching.method) {
    case BatchingMethod::kPadded:
      return make_padded(lengths, batching.micro_batch);
    case BatchingMethod::kBucketed:
      return make_bucketed(lengths, batching.buckets);
    case BatchingMethod::kPacked:
      return make_packed(lengths, batching.max_tokens);
    case BatchingMethod::kDynamic:
      return make_dynamic(lengths, batching, rank_count);
  }
  return {};
}

}  // namespace

std::vector<MicroBatch> in_order(std::vector<MicroBatch> made, const Batching& batching) {
  std::ranges::stable_sort(made, {}, [](const MicroBatch& one) {
    return std::tuple(one.padded_tokens(), one.row_length, one.samples.front());
  });
  std::vector<MicroBatch> result;
  for (const int third : batching.order) {
    const auto count = std::ssize(made);
    auto first = made.begin() + count * third / 3;
    const auto last = made.begin() + count * (third + 1) / 3;
    if (batching.order_within == RunOrder::kFalling) std::reverse(first, last);
    for (; first != last; ++first) result.push_back(std::move(*first));
  }
  return result;
}

std::vector<MicroBatch> make_micro_batches(Lengths lengths, const Batching& batching,
                                           int rank_count) {
  if (lengths.empty()) return {};
  check_lengths(lengths, batching.longest);
  return in_order(make(lengths, batching, rank_count), batching);
}

std::vector<double> loss_weights(std::span<const MicroBatch> micro_batches) {
  const auto predicted = [](const MicroBatch& one) { return one.tokens - std::ssize(one.samples); };
  std::int64_t total = 0;
  for (const MicroBatch& one : micro_batches) total += predicted(one);
  std::vector<double> weights;
  for (const MicroBatch& one : micro_batches) {
    weights.push_back(
        total == 0 ? 0.0 : static_cast<double>(predicted(one)) / static_cast<double>(total));
  }
  return weights;
}

}  // namespace ppplan::planner
