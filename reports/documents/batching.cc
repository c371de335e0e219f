#include "reports/documents/batching.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>

namespace ppplan {
namespace {

constexpr IntegerRange kTokens = {1, 1'000'000'000};
constexpr IntegerRange kSamples = {1, 1'000'000};
constexpr IntegerRange kBudget = {1, 1'000'000'000'000'000};
constexpr IntegerRange kThird = {0, 2};
constexpr std::size_t kMostRows = 10'000;

}  // namespace

const std::vector<std::string>& batching_method_words() {
  static const std::vector<std::string> words = {"padded", "bucketed", "packed", "dynamic"};
  return words;
}

const std::vector<std::string>& memory_pool_words() {
  static const std::vector<std::string> words = {"static", "dynamic"};
  return words;
}

const std::vector<std::string>& run_order_words() {
  static const std::vector<std::string> words = {"rising", "falling"};
  return words;
}

const std::vector<std::string>& packed_cost_words() {
  static const std::vector<std::string> words = {"by_sample", "by_tokens"};
  return words;
}

template <typename Io>
void describe(Io& io, Like<LengthBucket> auto& bucket) {
  io("length", bucket.length, kTokens);
  io("samples", bucket.samples, kSamples);
}

template <typename Io>
void describe(Io& io, Like<ShapeTimes> auto& row) {
  io("length", row.length, kTokens);
  io("samples", row.samples, kSamples);
  io("times_s", row.times);
}

template <typename Io>
void describe(Io& io, Like<BatchingOutcome> auto& outcome) {
  io.word("method", outcome.method, batching_method_words());
  io("setting", outcome.setting);
  io("micro_batch_count", outcome.micro_batch_count);
  io("tokens_per_s", outcome.tokens_per_s);
  io("padding_efficiency", outcome.padding_efficiency, NumberRange{0.0, 1.0});
  io("step_s", outcome.step);
  io("stall_s", outcome.stall);
  io("rank_stalls_s", outcome.rank_stalls);
  io("static_peak_bytes", outcome.static_peaks);
  io("dynamic_peak_bytes", outcome.dynamic_peaks);
  io("reason", outcome.reason);
}

namespace {

template <typename Io>
void describe_batching(Io& io, Like<Batching> auto& batching) {
  io.word("method", batching.method, batching_method_words());
  io.word("memory_pool", batching.memory_pool, memory_pool_words());
  io("longest", batching.longest, kTokens);
  if (io.holds("micro_batch", batching.micro_batch != 0)) {
    io("micro_batch", batching.micro_batch, kSamples);
  }
  if (io.holds("buckets", !batching.buckets.empty())) io.rows("buckets", batching.buckets);
  if (io.holds("max_tokens", batching.max_tokens != 0)) {
    io("max_tokens", batching.max_tokens, kBudget);
  }
  if (io.holds("times", !batching.times.empty())) io.rows("times", batching.times);
  io("order", batching.order, kThird);
  io.word("order_within", batching.order_within, run_order_words());
  io.word("packed_cost", batching.packed_cost, packed_cost_words());
  io("sampled_batches", batching.sampled_batches);
  io("seed", batching.seed);
  io("cut_samples", batching.cut_samples);
  io.rows("compared", batching.compared);
}

/// Lengths rise and reach the longest sample.
template <typename Row>
void check_lengths(const std::vector<Row>& rows, std::int64_t longest, const char* key,
                   const Fields& fields) {
  if (rows.size() > kMostRows) {
    fields.fail(key, fmt::format("expected at most {} rows, found {}", kMostRows, rows.size()));
  }
  const auto fallen = std::ranges::adjacent_find(rows, std::ranges::greater_equal(), &Row::length);
  if (fallen != rows.end()) {
    fields.fail(key, fmt::format("expected rising lengths, found {} before {}", fallen->length,
                                 std::next(fallen)->length));
  }
  if (rows.back().length < longest) {
    fields.fail(key, fmt::format("expected lengths up to the longest sample ({}), found up to {}",
                                 longest, rows.back().length));
  }
}

void check_times(const Batching& batching, const Fields& fields) {
  const std::vector<Fields> rows = fields.maps("times");
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const ShapeTimes& row = batching.times[at];
    if (row.samples.empty() || row.samples.size() > kMostRows) {
      rows[at].fail("samples",
                    fmt::format("expected 1 to {} sizes, found {}", kMostRows, row.samples.size()));
    }
    if (std::ranges::adjacent_find(row.samples, std::ranges::greater_equal()) !=
        row.samples.end()) {
      rows[at].fail("samples", "expected rising sizes, found others");
    }
    if (row.times.size() != row.samples.size()) {
      rows[at].fail("times_s", fmt::format("expected a time for each of {} sizes, found {}",
                                           row.samples.size(), row.times.size()));
    }
    if (at > 0 && row.samples.back() > batching.times[at - 1].samples.back()) {
      rows[at].fail("samples",
                    fmt::format("expected at most {} as of the shorter length, found {}",
                                batching.times[at - 1].samples.back(), row.samples.back()));
    }
  }
}

/// The method's own parameter is there.
void require(bool there, const char* key, BatchingMethod method, const Fields& fields) {
  if (there) return;
  fields.fail(key, fmt::format("expected with method {}, found none",
                               batching_method_words()[static_cast<std::size_t>(method)]));
}

}  // namespace

void describe(MappingReader& io, Batching& batching) {
  describe_batching(io, batching);
}
void describe(MappingWriter& io, const Batching& batching) {
  describe_batching(io, batching);
}

void validate(const Batching& batching, const Fields& fields) {
  const BatchingMethod method = batching.method;
  for (const BatchingOutcome& one : batching.compared) {
    const std::size_t rank_count = one.rank_stalls.size();
    if (one.static_peaks.size() != rank_count || one.dynamic_peaks.size() != rank_count) {
      fields.fail("compared", "expected as many peaks as stalls by rank, found others");
    }
  }
  std::vector<int> thirds = batching.order;
  std::ranges::sort(thirds);
  if (thirds != std::vector<int>{0, 1, 2}) {
    fields.fail("order", "expected each of 0, 1 and 2 once, found others");
  }
  switch (method) {
    case BatchingMethod::kPadded:
      return require(batching.micro_batch > 0, "micro_batch", method, fields);
    case BatchingMethod::kBucketed:
      require(!batching.buckets.empty(), "buckets", method, fields);
      return check_lengths(batching.buckets, batching.longest, "buckets", fields);
    case BatchingMethod::kPacked:
      return require(batching.max_tokens > 0, "max_tokens", method, fields);
    case BatchingMethod::kDynamic:
      require(batching.max_tokens > 0, "max_tokens", method, fields);
      require(!batching.times.empty(), "times", method, fields);
      check_lengths(batching.times, batching.longest, "times", fields);
      check_times(batching, fields);
  }
}

}  // namespace ppplan
