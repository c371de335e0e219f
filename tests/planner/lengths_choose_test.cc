#include "planner/lengths/bucket_lengths.h"
#include "planner/lengths/choose_batching.h"
#include "planner/lengths/sampled_batches.h"
#include "planner/lengths/stage_surface.h"
#include "planner/lengths/step_model.h"
#include "planner/schedule/micro_batching.h"
#include "reports/documents/file.h"
#include "reports/documents/lengths.h"
#include "tests/support/attention_profile.h"
#include "tests/support/errors.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace ppplan::planner {
namespace {

using testing::attention_profile;
using Lengths = std::vector<std::int64_t>;

/// Mostly short samples, a few long ones: what padding inflates.
Lengths mixed_lengths() {
  std::mt19937 random(5);
  Lengths lengths;
  for (int sample = 0; sample < 400; ++sample) {
    const bool is_long = random() % 8 == 0;
    lengths.push_back(is_long ? 1500 + random() % 2500 : 20 + random() % 300);
  }
  return lengths;
}

Planned plan_for(const Profile& profile, std::int64_t global_batch = 64,
                 const std::string& schedule = "1f1b") {
  auto answer = partition(
      profile,
      {.stage_count = 4, .global_batch = global_batch, .sequence = 4096, .schedules = {schedule}});
  REQUIRE(std::holds_alternative<Planned>(answer));
  return std::get<Planned>(std::move(answer));
}

Batching batching_for(const Profile& profile, const Planned& planned, const Lengths& lengths,
                      const BatchingQuestion& question) {
  auto answer = choose_batching(profile, planned, lengths, question);
  REQUIRE(std::holds_alternative<Batching>(answer));
  return std::get<Batching>(std::move(answer));
}

const BatchingOutcome& outcome_of(const Batching& batching, BatchingMethod method) {
  return *std::ranges::find(batching.compared, method, &BatchingOutcome::method);
}

/// The least tokens of all choices of `bucket_count` bounds among the lengths.
std::int64_t least_padded(const Lengths& sorted, std::size_t last, int bucket_count) {
  // Samples [0, last): the last bucket holds [first, last).
  if (last == 0) return 0;
  if (bucket_count == 0) return INT64_MAX / 2;
  std::int64_t least = INT64_MAX / 2;
  for (std::size_t first = 0; first < last; ++first) {
    const auto own = sorted[last - 1] * static_cast<std::int64_t>(last - first);
    least = std::min(least, least_padded(sorted, first, bucket_count - 1) + own);
  }
  return least;
}

}  // namespace

TEST_CASE("bucket lengths: pad least of all bounds") {
  std::mt19937 random(2);
  for (int trial = 0; trial < 50; ++trial) {
    Lengths lengths;
    for (std::uint64_t count = 1 + random() % 9; count > 0; --count) {
      lengths.push_back(1 + random() % 30);
    }
    const int bucket_count = 1 + static_cast<int>(random() % 4);
    const Lengths bounds = least_padding_lengths(lengths, bucket_count);
    CHECK(std::ssize(bounds) <= bucket_count);
    CHECK(bounds.back() == std::ranges::max(lengths));
    std::int64_t padded = 0;
    for (const std::int64_t length : lengths) padded += *std::ranges::lower_bound(bounds, length);
    std::ranges::sort(lengths);
    CHECK(padded == least_padded(lengths, lengths.size(), bucket_count));
  }
}

TEST_CASE("sampled batches: go through every sample before any comes again, always alike") {
  Lengths lengths(10);
  std::iota(lengths.begin(), lengths.end(), 1);
  const SampledBatches batches = sample_batches(lengths, 4, 5, 9);
  Lengths drawn;
  for (const Lengths& batch : batches) drawn.insert(drawn.end(), batch.begin(), batch.end());
  REQUIRE(drawn.size() == 20);
  std::sort(drawn.begin(), drawn.begin() + 10);
  std::sort(drawn.begin() + 10, drawn.end());
  CHECK(std::equal(lengths.begin(), lengths.end(), drawn.begin()));
  CHECK(std::equal(lengths.begin(), lengths.end(), drawn.begin() + 10));
  CHECK(batches == sample_batches(lengths, 4, 5, 9));
  CHECK(batches != sample_batches(lengths, 4, 5, 10));
  // The same on every platform: SplitMix64 is fixed by its paper.
  CHECK(sample_batches({1, 2, 3, 4, 5}, 5, 1, 1).front() == Lengths{1, 5, 3, 2, 4});
  CHECK(longest_batch({3, 9, 5}, 2) == Lengths{9, 5});
  CHECK(longest_batch({3, 9}, 5) == Lengths{9, 3, 9, 3, 9});
}

TEST_CASE("stage surface: measured shapes are exact, those in between lie between them") {
  const Profile profile = attention_profile();
  const Planned planned = plan_for(profile);
  const StageSurface surface(profile, planned);
  const PlanStage& stage = planned.plan.stages[1];  // blocks only
  for (const double samples : {1.0, 2.0, 8.0}) {
    for (const double length : {64.0, 512.0, 4096.0}) {
      const StageCost cost = surface.stage(1, surface.grid().at(samples, length));
      CHECK(cost.forward.count() ==
            doctest::Approx(stage.layer_count * testing::block_forward_s(samples, length)));
      CHECK(cost.output.count == static_cast<std::int64_t>(4096 * samples * length));
    }
  }
  const StageCost between = surface.stage(1, surface.grid().at(3, 3000));
  CHECK(between.forward.count() >= stage.layer_count * testing::block_forward_s(3, 3000));
  CHECK(between.saved.count == doctest::Approx(stage.layer_count * 70'000.0 * 9000));
  CHECK(surface.grid().longest() == 8192);
  CHECK(surface.grid().most_samples(8192) == 8);
}

TEST_CASE("stage surface: one number of samples at each length is enough") {
  const Profile profile =
      attention_profile({.sequences = {128, 4096}, .micro_batches = {1}, .most_tokens = 4096});
  const Planned planned = plan_for(profile, 8);
  CHECK(StageSurface(profile, planned).grid().most_samples(100) == 1);
}

TEST_CASE("batching: long and short samples together lose most by padding") {
  const Profile profile = attention_profile();
  const Planned planned = plan_for(profile);
  const Lengths lengths = mixed_lengths();
  const Batching batching = batching_for(profile, planned, lengths, {.global_batch = 64});
  REQUIRE(batching.compared.size() == 4);
  const BatchingOutcome& padded = outcome_of(batching, BatchingMethod::kPadded);
  const BatchingOutcome& dynamic = outcome_of(batching, BatchingMethod::kDynamic);
  const BatchingOutcome& packed = outcome_of(batching, BatchingMethod::kPacked);
  CHECK(padded.padding_efficiency < 0.3);
  CHECK(outcome_of(batching, BatchingMethod::kBucketed).padding_efficiency > 0.8);
  CHECK(dynamic.padding_efficiency > 0.9);
  CHECK(packed.padding_efficiency == 1.0);
  CHECK(dynamic.tokens_per_s > 2.0 * padded.tokens_per_s);
  CHECK(padded.stall.count() == doctest::Approx(0.0));
  CHECK(dynamic.stall > Seconds(0));
  for (const BatchingOutcome& one : batching.compared) {
    CHECK(one.reason.empty() == (one.method == batching.method));
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(one.dynamic_peaks[rank] <= one.static_peaks[rank]);
    }
  }
  CHECK(outcome_of(batching, batching.method).tokens_per_s >= dynamic.tokens_per_s);
}

TEST_CASE("batching: equal samples leave nothing to gain") {
  const Profile profile = attention_profile();
  const Planned planned = plan_for(profile);
  const Batching batching =
      batching_for(profile, planned, Lengths(100, 1024), {.global_batch = 64});
  const double padded = outcome_of(batching, BatchingMethod::kPadded).tokens_per_s;
  for (const BatchingOutcome& one : batching.compared) {
    CHECK(one.padding_efficiency == 1.0);
    CHECK(one.tokens_per_s == doctest::Approx(padded).epsilon(0.05));
  }
}

TEST_CASE("batching: the plan's rule makes the micro-batches that were judged") {
  const Profile profile = attention_profile();
  const Planned planned = plan_for(profile, 16);
  const Lengths lengths = mixed_lengths();
  for (int method = 0; method < 4; ++method) {
    const Batching batching = batching_for(
        profile, planned, lengths,
        {.global_batch = 16, .method = static_cast<BatchingMethod>(method), .batch_count = 3});
    StepModel model(profile, planned);
    Seconds sum{0};
    for (const Lengths& batch : sample_batches(lengths, 16, 3, batching.seed)) {
      const auto made = make_micro_batches(batch, batching, 4);
      const auto& schedule = std::get<Schedule>(model.schedule(static_cast<int>(made.size())));
      sum += model.step(schedule, model.costs(made, batch));
    }
    CHECK(sum.count() / 3 ==
          doctest::Approx(outcome_of(batching, batching.method).step.count()).epsilon(1e-12));
  }
}

TEST_CASE("batching: the same question has the same answer") {
  const Profile profile = attention_profile();
  const Planned planned = plan_for(profile);
  const Lengths lengths = mixed_lengths();
  const BatchingQuestion question{.global_batch = 64, .batch_count = 12};
  CHECK(batching_for(profile, planned, lengths, question) ==
        batching_for(profile, planned, lengths, question));
}

TEST_CASE("batching: lengths and budgets beyond the measured ones are refused, with the way out") {
  const Profile profile = attention_profile();
  const Planned planned = plan_for(profile);
  const auto choose = [&](const Lengths& lengths, const BatchingQuestion& question) {
    return [&profile, &planned, lengths, question] {
      (void)choose_batching(profile, planned, lengths, question);
    };
  };
  const auto too_long = choose({100, 14089}, {.global_batch = 64});
  CHECK(test::message_of(too_long) ==
        "the longest sample has 14089 tokens, and the profile measured up to 8192");
  CHECK(test::hint_of(too_long) ==
        "measure it: ppplan profile ... --sequence-lengths 14089, or cut samples as the trainer "
        "will: --max-sequence-length 8192");
  CHECK(test::message_of(choose({100}, {.global_batch = 64, .max_tokens = 70'000})) ==
        "--max-tokens 70000: the profile measured micro-batches of up to 65536 tokens");
  CHECK(test::message_of(choose({100}, {.global_batch = 64, .max_tokens = 0})) ==
        "--max-tokens 0: must be at least 1");
  CHECK(test::message_of(choose({100}, {.global_batch = 20'000})) ==
        "--global-batch 20000: expected 1 to 16384 samples with lengths of their own");
  CHECK(test::message_of(choose({100}, {.global_batch = 4, .batch_count = 0})) ==
        "--sampled-batches 0: expected 1 to 10000");
  const CutLengths cut = cut_to({100, 14089, 8192}, 8192);
  CHECK(cut.lengths == Lengths{100, 8192, 8192});
  CHECK(cut.cut_count == 1);
}

TEST_CASE("batching: equal samples cost what a plan for that length says") {
  const Profile profile = attention_profile();
  Planned planned = plan_for(profile);  // for 4,096 tokens
  const int size = planned.plan.micro_batch;
  const Batching batching =
      batching_for(profile, planned, Lengths(100, 4096),
                   {.global_batch = 64, .micro_batch = size, .batch_count = 2});
  const BatchingOutcome& padded = outcome_of(batching, BatchingMethod::kPadded);
  CHECK(padded.step.count() == doctest::Approx(planned.plan.predicted.step.count()));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(padded.dynamic_peaks[rank] == planned.plan.ranks[rank].memory.total());
    CHECK(padded.static_peaks[rank] == padded.dynamic_peaks[rank]);
  }
}

TEST_CASE("batching: recompute and slower devices cost what the plan says") {
  Profile profile = attention_profile();
  std::vector<Measurement> recomputed;
  for (Measurement row : profile.measurements) {
    row.recompute = Recompute::kFull;
    row.recompute_extra = row.forward.median;
    row.backward.median += row.forward.median;
    row.backward_input.median += row.forward.median;
    row.backward_peak = row.backward_peak + row.saved;
    row.saved = row.output;
    recomputed.push_back(row);
  }
  profile.measurements.insert(profile.measurements.end(), recomputed.begin(), recomputed.end());
  profile.devices[1].speed = 0.5;
  auto answer = partition(profile, {.stage_count = 4,
                                    .global_batch = 16,
                                    .micro_batch = 4,
                                    .sequence = 4096,
                                    .memory = Bytes{std::int64_t{12} << 30},
                                    .schedules = {"1f1b"}});
  REQUIRE(std::holds_alternative<Planned>(answer));
  const Planned& planned = std::get<Planned>(answer);
  CHECK(std::ranges::any_of(planned.plan.stages,
                            [](const PlanStage& stage) { return !stage.recompute.empty(); }));
  const Batching batching = batching_for(profile, planned, Lengths(100, 4096),
                                         {.global_batch = 16, .micro_batch = 4, .batch_count = 2});
  const BatchingOutcome& padded = outcome_of(batching, BatchingMethod::kPadded);
  CHECK(padded.step.count() == doctest::Approx(planned.plan.predicted.step.count()));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(padded.dynamic_peaks[rank] == planned.plan.ranks[rank].memory.total());
  }
}

TEST_CASE("batching: memory is that of micro-batch x longest, and what does not fit says so") {
  const Profile profile = attention_profile();
  const Lengths lengths = mixed_lengths();
  const Planned planned = plan_for(profile);
  // What the plan's cut needs for eight samples of the longest length, by the planner itself.
  std::vector<int> layer_counts;
  for (const PlanStage& stage : planned.plan.stages) layer_counts.push_back(stage.layer_count);
  const auto eight = partition(profile, {.stage_count = 4,
                                         .global_batch = 64,
                                         .micro_batch = 8,
                                         .sequence = std::ranges::max(lengths),
                                         .schedules = {"1f1b"},
                                         .layer_counts = layer_counts});
  const Bytes needed = std::get<Planned>(eight).plan.ranks[0].memory.total();
  BatchingQuestion question{
      .global_batch = 64, .method = BatchingMethod::kPadded, .micro_batch = 8, .batch_count = 4};
  const Batching roomy = batching_for(profile, planned, lengths, question);
  const Bytes found = outcome_of(roomy, BatchingMethod::kPadded).dynamic_peaks[0];
  CHECK(std::abs((found - needed).count) <= 16);  // bytes are rounded at other places

  Planned tight = planned;
  tight.allowed.assign(4, found - Bytes{1000});
  const auto answer = choose_batching(profile, tight, lengths, question);
  REQUIRE(std::holds_alternative<Unbatchable>(answer));
  const Unbatchable& none = std::get<Unbatchable>(answer);
  CAPTURE(none.reason);
  CHECK(none.reason.find("the batching does not fit the memory: with padded batching of 8 samples "
                         "rank 0 needs ") == 0);
  CHECK(none.reason.ends_with(", 1000 bytes too many"));
  CHECK(none.remedies.front() == "--batching auto");
  CHECK(std::ranges::find(none.remedies, "no --micro-batch") != none.remedies.end());

  question.method.reset();
  const Batching fitting = batching_for(profile, tight, lengths, question);
  CHECK(fitting.method != BatchingMethod::kPadded);
  for (const Bytes peak : outcome_of(fitting, fitting.method).dynamic_peaks) {
    CHECK(peak <= tight.allowed[0]);
  }
}

TEST_CASE("batching: fixed buffers for the largest micro-batch may not fit where own ones do") {
  const Profile profile = attention_profile();
  const Lengths lengths = mixed_lengths();
  const Planned planned = plan_for(profile, 8);
  BatchingQuestion question{
      .global_batch = 8, .method = BatchingMethod::kDynamic, .max_tokens = 8192, .batch_count = 4};
  const Batching roomy = batching_for(profile, planned, lengths, question);
  const BatchingOutcome& outcome = outcome_of(roomy, BatchingMethod::kDynamic);
  CHECK(outcome.dynamic_peaks[0] < outcome.static_peaks[0]);
  Planned tight = planned;
  tight.allowed = outcome.dynamic_peaks;
  CHECK(std::holds_alternative<Batching>(choose_batching(profile, tight, lengths, question)));
  question.memory_pool = MemoryPool::kStatic;
  const auto answer = choose_batching(profile, tight, lengths, question);
  REQUIRE(std::holds_alternative<Unbatchable>(answer));
  CHECK(std::get<Unbatchable>(answer).remedies.front() == "--memory-pool dynamic");
}

TEST_CASE("batching: several stages a rank are simulated as they are planned") {
  const Profile profile = attention_profile();
  const Planned planned = plan_for(profile, 64, "interleaved-1f1b");
  REQUIRE(planned.plan.stages.size() == 8);
  const Batching batching =
      batching_for(profile, planned, mixed_lengths(), {.global_batch = 64, .batch_count = 2});
  for (const BatchingOutcome& one : batching.compared) {
    CHECK(one.tokens_per_s > 0.0);
    CHECK(one.rank_stalls.size() == 4);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      CHECK(one.dynamic_peaks[rank] <= one.static_peaks[rank]);
    }
  }
}

TEST_CASE("batching: an order made for one number of micro-batches is refused") {
  const Profile profile = attention_profile();
  const Planned planned = plan_for(profile, 16, "synthesized");
  CHECK(test::message_of([&] {
          (void)choose_batching(profile, planned, {100, 200}, {.global_batch = 16});
        }).find("an order made for one number of micro-batches") == 0);
}

TEST_SUITE("shared") {
  TEST_CASE("batching: on a mix of tasks every way of grouping beats padding threefold") {
    const std::filesystem::path file =
        std::filesystem::path(PPPLAN_SHARED_ROOT) / "data/lengths/multitask_mix.txt";
    if (!std::filesystem::exists(file)) {
      fmt::print("skipped: {} is not here\n", file.string());
      return;
    }
    const Lengths lengths = read_lengths(read_file(file), file.string());
    CHECK(lengths.size() == 9819);
    CHECK(std::ranges::max(lengths) == 4851);
    const Profile profile = attention_profile();
    auto planned = partition(
        profile, {.stage_count = 4, .global_batch = 64, .sequence = 4851, .schedules = {"1f1b"}});
    const Batching batching = batching_for(profile, std::get<Planned>(planned), lengths,
                                           {.global_batch = 64, .batch_count = 10});
    const BatchingOutcome& padded = outcome_of(batching, BatchingMethod::kPadded);
    CHECK(padded.padding_efficiency < 0.28);
    for (const BatchingMethod method :
         {BatchingMethod::kBucketed, BatchingMethod::kPacked, BatchingMethod::kDynamic}) {
      CHECK(outcome_of(batching, method).tokens_per_s > 3.0 * padded.tokens_per_s);
    }
  }
}

}  // namespace ppplan::planner
