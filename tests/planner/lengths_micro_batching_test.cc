#include "planner/schedule/dynamic_batching.h"
#include "planner/schedule/micro_batching.h"
#include "planner/schedule/shape_grid.h"
#include "tests/support/errors.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace ppplan::planner {
namespace {

double uniform(std::mt19937& random, double least, double most) {
  return least + (most - least) * static_cast<double>(random()) / 4294967296.0;
}

std::int64_t whole(std::mt19937& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(most - least + 1));
}

std::vector<std::int64_t> random_lengths(std::mt19937& random, std::int64_t count,
                                         std::int64_t longest) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t sample = 0; sample < count; ++sample) {
    const std::int64_t most = random() % 4 == 0 ? longest : std::max<std::int64_t>(1, longest / 8);
    lengths.push_back(whole(random, 1, most));
  }
  return lengths;
}

/// Times over 16 to 1024 tokens and 1 to 8 samples; not even monotone where `noise` is large.
std::vector<ShapeTimes> random_times(std::mt19937& random, double noise) {
  std::vector<ShapeTimes> rows;
  for (const std::int64_t length : {16, 64, 256, 1024}) {
    ShapeTimes& row = rows.emplace_back(ShapeTimes{length, {1, 2, 4, 8}, {}});
    if (length == 1024) row.samples = {1, 2, 4};
    for (const int samples : row.samples) {
      const double tokens = static_cast<double>(samples * length);
      const double time = 1e-3 + 1e-5 * tokens + 1e-9 * tokens * static_cast<double>(length);
      row.times.emplace_back(time * uniform(random, 1.0, 1.0 + noise));
    }
  }
  return rows;
}

Batching batching_of(BatchingMethod method, std::vector<ShapeTimes> times = {}) {
  return {.method = method,
          .longest = 1024,
          .micro_batch = 4,
          .buckets = {{32, 8}, {128, 4}, {1024, 2}},
          .max_tokens = 1024,
          .times = std::move(times)};
}

constexpr BatchingMethod kMethods[] = {BatchingMethod::kPadded, BatchingMethod::kBucketed,
                                       BatchingMethod::kPacked, BatchingMethod::kDynamic};

/// The least (c - 1) slowest + sum of all 2^(n - 1) divisions.
double least_of_all(const std::vector<std::int64_t>& sorted, const TimeSurface& times,
                    std::int64_t max_tokens, int rank_count) {
  const std::size_t count = sorted.size();
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t cuts = 0; cuts < (1U << (count - 1)); ++cuts) {
    double slowest = 0.0;
    double sum = 0.0;
    std::size_t first = 0;
    bool allowed = true;
    for (std::size_t end = 1; end <= count && allowed; ++end) {
      const bool cut = end == count || ((cuts >> (end - 1)) & 1U) != 0;
      if (!cut) continue;
      const auto size = static_cast<std::int64_t>(end - first);
      const std::int64_t longest = sorted[end - 1];
      allowed =
          size <= times.grid().most_samples(longest) && (size == 1 || size * longest <= max_tokens);
      if (!allowed) break;
      const double time = times.at(static_cast<int>(size), longest).count();
      slowest = std::max(slowest, time);
      sum += time;
      first = end;
    }
    if (allowed) least = std::min(least, (rank_count - 1) * slowest + sum);
  }
  return least;
}

}  // namespace

TEST_CASE("dynamic batching: equals the best of all divisions") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 400; ++trial) {
    CAPTURE(trial);
    const TimeSurface times(random_times(random, trial % 2 == 0 ? 0.05 : 1.5));
    std::vector<std::int64_t> sorted = random_lengths(random, whole(random, 1, 11), 1024);
    std::ranges::sort(sorted);
    const std::int64_t max_tokens = whole(random, 16, 4096);
    const auto rank_count = static_cast<int>(whole(random, 1, 16));
    const SampleRuns runs = divide_samples(sorted, times, max_tokens, rank_count);
    REQUIRE(!runs.ends.empty());
    CHECK(runs.ends.back() == sorted.size());
    const double cost = (rank_count - 1) * runs.slowest.count() + runs.sum.count();
    CHECK(cost ==
          doctest::Approx(least_of_all(sorted, times, max_tokens, rank_count)).epsilon(1e-12));
  }
}

TEST_CASE("dynamic batching: one rank minimizes the sum alone, many ranks even the times") {
  const TimeSurface times({{100, {1, 2, 4}, {Seconds(3), Seconds(4), Seconds(6)}}});
  const std::vector<std::int64_t> lengths(4, 100);
  CHECK(divide_samples(lengths, times, 1000, 1).ends == std::vector<std::size_t>{4});
  // With c ranks: one of 4 costs 6 c, two of 2 cost 4 c + 4, four of 1 cost 3 c + 9.
  CHECK(divide_samples(lengths, times, 1000, 3).ends == std::vector<std::size_t>{2, 4});
  CHECK(divide_samples(lengths, times, 1000, 8).ends == std::vector<std::size_t>{1, 2, 3, 4});
}

TEST_CASE("micro-batches: every sample is in exactly one, whatever the method") {
  std::mt19937 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<std::int64_t> lengths = random_lengths(random, whole(random, 1, 60), 1024);
    for (const BatchingMethod method : kMethods) {
      CAPTURE(trial);
      CAPTURE(batching_method_words()[static_cast<std::size_t>(method)]);
      Batching batching = batching_of(method, random_times(random, 0.1));
      batching.max_tokens = whole(random, 16, 2048);
      std::ranges::shuffle(batching.order, random);
      batching.order_within = trial % 2 == 0 ? RunOrder::kRising : RunOrder::kFalling;
      std::vector<int> seen(lengths.size(), 0);
      for (const MicroBatch& made : make_micro_batches(lengths, batching, 4)) {
        std::int64_t tokens = 0;
        std::int64_t longest = 0;
        for (const int sample : made.samples) {
          ++seen[static_cast<std::size_t>(sample)];
          tokens += lengths[static_cast<std::size_t>(sample)];
          longest = std::max(longest, lengths[static_cast<std::size_t>(sample)]);
        }
        CHECK(made.tokens == tokens);
        CHECK(made.padded_tokens() >= tokens);
        if (method == BatchingMethod::kPacked) {
          CHECK(made.row_count == 1);
          CHECK(made.row_length == tokens);
        } else {
          CHECK(made.row_count == std::ssize(made.samples));
          CHECK(made.row_length >= longest);
        }
        if (method == BatchingMethod::kPacked || method == BatchingMethod::kDynamic) {
          const bool alone_or_within =
              made.samples.size() == 1 || made.padded_tokens() <= batching.max_tokens;
          CHECK(alone_or_within);
        }
      }
      CHECK(std::ranges::all_of(seen, [](int count) { return count == 1; }));
    }
  }
}

TEST_CASE("micro-batches: a sample longer than the budget is alone, none is dropped") {
  const std::vector<std::int64_t> lengths = {90, 700, 30, 40};
  for (const BatchingMethod method : {BatchingMethod::kPacked, BatchingMethod::kDynamic}) {
    Batching batching =
        batching_of(method, {{1024, {1, 2, 4}, {Seconds(1), Seconds(1.1), Seconds(1.2)}}});
    batching.max_tokens = 200;
    const auto made = make_micro_batches(lengths, batching, 2);
    const auto alone = std::ranges::find_if(made, [](const MicroBatch& one) {
      return std::ranges::find(one.samples, 1) != one.samples.end();
    });
    REQUIRE(alone != made.end());
    CHECK(alone->samples == std::vector<int>{1});
    CHECK(alone->row_length == 700);
    std::size_t count = 0;
    for (const MicroBatch& one : made) count += one.samples.size();
    CHECK(count == 4);
  }
}

TEST_CASE("micro-batches: shapes are those of the step at hand, not of the first one") {
  const Batching batching = batching_of(BatchingMethod::kPadded);
  const std::vector<std::int64_t> first = {10, 12, 9, 12};
  const std::vector<std::int64_t> second = {10, 13, 9, 12};  // longer by one
  CHECK(make_micro_batches(first, batching, 2).front().row_length == 12);
  CHECK(make_micro_batches(second, batching, 2).front().row_length == 13);
}

TEST_CASE("micro-batches: eight samples in threes are three, three and two") {
  Batching batching = batching_of(BatchingMethod::kPadded);
  batching.micro_batch = 3;
  batching.order = {2, 1, 0};
  const std::vector<std::int64_t> lengths(8, 100);
  std::vector<int> sizes;
  for (const MicroBatch& made : make_micro_batches(lengths, batching, 2)) {
    sizes.push_back(made.row_count);
  }
  CHECK(sizes == std::vector<int>{3, 3, 2});
}

TEST_CASE("micro-batches: first-fit decreasing fills the first row with room") {
  const std::vector<std::int64_t> lengths = {60, 50, 50, 40, 30, 20};
  Batching batching = batching_of(BatchingMethod::kPacked);
  batching.max_tokens = 100;
  const auto made = make_micro_batches(lengths, batching, 2);
  REQUIRE(made.size() == 3);  // {60, 40}, {50, 50}, {30, 20}, smallest first
  CHECK(made[0].samples == std::vector<int>{4, 5});
  CHECK(made[1].samples == std::vector<int>{0, 3});
  CHECK(made[2].samples == std::vector<int>{1, 2});
}

TEST_CASE("micro-batches: buckets pad to their own length") {
  const std::vector<std::int64_t> lengths = {5, 100, 32, 900, 7};
  const auto made = make_micro_batches(lengths, batching_of(BatchingMethod::kBucketed), 2);
  REQUIRE(made.size() == 3);
  CHECK(made[0].samples == std::vector<int>{0, 2, 4});
  CHECK(made[0].row_length == 32);
  CHECK(made[1].row_length == 128);
  CHECK(made[2].row_length == 1024);
}

TEST_CASE("micro-batches: the rule's order puts thirds by size") {
  const std::vector<std::int64_t> lengths = {1, 2, 3, 4, 5, 6};
  Batching batching = batching_of(BatchingMethod::kPacked);
  batching.max_tokens = 1;  // every sample alone
  const auto order_of = [&] {
    std::vector<std::int64_t> order;
    for (const MicroBatch& made : make_micro_batches(lengths, batching, 2)) {
      order.push_back(made.row_length);
    }
    return order;
  };
  batching.order = {2, 0, 1};
  CHECK(order_of() == std::vector<std::int64_t>{5, 6, 1, 2, 3, 4});
  batching.order_within = RunOrder::kFalling;
  CHECK(order_of() == std::vector<std::int64_t>{6, 5, 2, 1, 4, 3});
}

TEST_CASE("micro-batches: a length that was not planned for is refused") {
  const std::vector<std::int64_t> lengths = {10, 1025};
  const auto make = [&] {
    (void)make_micro_batches(lengths, batching_of(BatchingMethod::kPadded), 2);
  };
  CHECK(test::message_of(make) == "sample 1: expected 1 to 1024 tokens, as planned, found 1025");
}

TEST_CASE("loss weights: tokens that predict count alike, whatever the micro-batch") {
  const std::vector<MicroBatch> made = {
      {.samples = {0}, .row_count = 1, .row_length = 11, .tokens = 11},
      {.samples = {1}, .row_count = 1, .row_length = 101, .tokens = 101}};
  const std::vector<double> weights = loss_weights(made);
  CHECK(weights[0] == doctest::Approx(10.0 / 110.0));
  CHECK(weights[1] == doctest::Approx(100.0 / 110.0));
}

TEST_CASE("loss weights: a micro-batch with nothing to predict weighs nothing") {
  const std::vector<MicroBatch> made = {
      {.samples = {0, 1}, .row_count = 2, .row_length = 1, .tokens = 2},
      {.samples = {2}, .row_count = 1, .row_length = 5, .tokens = 5}};
  CHECK(loss_weights(made) == std::vector<double>{0.0, 1.0});
  CHECK(loss_weights(std::span(made).first(1)) == std::vector<double>{0.0});
}

TEST_CASE("shape grid: measured points are exact, and what lies between rises with them") {
  std::mt19937 random(3);
  const std::vector<ShapeTimes> rows = random_times(random, 0.0);
  const TimeSurface times(rows);
  for (const ShapeTimes& row : rows) {
    for (std::size_t size = 0; size < row.samples.size(); ++size) {
      CHECK(times.at(row.samples[size], row.length) == row.times[size]);
    }
  }
  CHECK(times.grid().most_samples(256) == 8);
  CHECK(times.grid().most_samples(257) == 4);
  CHECK(times.grid().most_tokens() == 4096);
  for (int samples = 1; samples <= 4; ++samples) {
    for (std::int64_t length = 2; length <= 1024; ++length) {
      CHECK(times.at(samples, length) >= times.at(samples, length - 1));
      if (samples > 1) CHECK(times.at(samples, length) > times.at(samples - 1, length));
    }
  }
}

TEST_CASE("shape grid: documents of a packed row cost by their own length") {
  // a + b tokens + c (sum of squares) at measured lengths comes out as it is.
  const auto cost = [](double tokens, double squares) {
    return 5.0 + 2.0 * tokens + 0.1 * squares;
  };
  std::vector<ShapeTimes> rows;
  for (const std::int64_t length : {8, 16, 32}) {
    ShapeTimes& row = rows.emplace_back(ShapeTimes{length, {}, {}});
    for (const int samples : {1, 2, 4, 8, 16}) {
      const auto tokens = static_cast<double>(samples * length);
      row.samples.push_back(samples);
      row.times.emplace_back(cost(tokens, tokens * static_cast<double>(length)));
    }
  }
  const TimeSurface times(rows);
  const auto row_cost = [&](const std::vector<std::int64_t>& documents) {
    const std::int64_t tokens =
        std::accumulate(documents.begin(), documents.end(), std::int64_t{0});
    std::vector<double> by_point(times.grid().point_count(), 0.0);
    double sum = 0.0;
    for (const std::int64_t document : documents) {
      double weights = 0.0;
      for (const auto& [point, weight] : times.grid().in_row(document, tokens)) {
        const std::size_t row = point / 5;
        sum += weight * rows[row].times[point % 5].count() * static_cast<double>(document) /
               static_cast<double>(tokens);
        weights += weight;
      }
      CHECK(weights == doctest::Approx(1.0));
    }
    return sum;
  };
  CHECK(row_cost({32, 16, 8, 8}) == doctest::Approx(cost(64, 1024 + 256 + 64 + 64)));
  // Shorter than any measured: as the shortest measured. Never less than by its own length.
  CHECK(row_cost({4, 4}) == doctest::Approx(cost(8, 64)));
  // 512 tokens of documents of 8 were not measured: they count as documents of 32.
  CHECK(row_cost(std::vector<std::int64_t>(64, 8)) == doctest::Approx(cost(512, 512 * 32)));
}

}  // namespace ppplan::planner
