#include "reports/documents/batching.h"

#include "reports/documents/plan.h"
#include "reports/render/batching_view.h"
#include "tests/support/errors.h"
#include "tests/support/small_plan.h"

#include <doctest/doctest.h>

#include <string>

namespace {

using ppplan::Batching;
using ppplan::BatchingMethod;
using ppplan::Bytes;
using ppplan::Seconds;
using ppplan::test::message_of;

Batching dynamic() {
  return {.method = BatchingMethod::kDynamic,
          .longest = 100,
          .max_tokens = 1000,
          .times = {{50, {1, 2, 4}, {Seconds(1), Seconds(2), Seconds(4)}},
                    {100, {1, 2}, {Seconds(2), Seconds(4)}}},
          .sampled_batches = 50,
          .cut_samples = 3,
          .compared = {{.method = BatchingMethod::kPadded,
                        .setting = "2 samples",
                        .micro_batch_count = 4.0,
                        .tokens_per_s = 1000.0,
                        .padding_efficiency = 0.25,
                        .rank_stalls = {Seconds(0), Seconds(0)},
                        .static_peaks = {Bytes{1 << 20}, Bytes{1 << 20}},
                        .dynamic_peaks = {Bytes{1 << 20}, Bytes{1 << 20}},
                        .reason = "75.0 % slower"},
                       {.method = BatchingMethod::kDynamic,
                        .setting = "1000 tokens",
                        .micro_batch_count = 5.5,
                        .tokens_per_s = 4000.0,
                        .padding_efficiency = 0.975,
                        .stall = Seconds(0.5),
                        .rank_stalls = {Seconds(0.25), Seconds(0)},
                        .static_peaks = {Bytes{3 << 20}, Bytes{2 << 20}},
                        .dynamic_peaks = {Bytes{2 << 20}, Bytes{1 << 20}}}}};
}

/// What reading a plan with this batching says.
std::string refusal(const Batching& batching) {
  ppplan::Plan plan = ppplan::test::small_plan();
  plan.batching = batching;
  return message_of([&] { ppplan::read_plan(write_plan(plan), "p"); });
}

bool says(const std::string& message, const std::string& part) {
  CAPTURE(message);
  return message.find("batching." + part) != std::string::npos;
}

TEST_CASE("batching: a plan holds it, and one without it reads as before") {
  ppplan::Plan plan = ppplan::test::small_plan();
  CHECK(write_plan(plan).find("batching") == std::string::npos);
  plan.batching = dynamic();
  CHECK(ppplan::read_plan(write_plan(plan), "p") == plan);
}

TEST_CASE("batching: each method brings its own parameters") {
  Batching batching = dynamic();
  batching.times.clear();
  CHECK(says(refusal(batching), "times: expected with method dynamic, found none"));
  batching = dynamic();
  batching.max_tokens = 0;
  CHECK(says(refusal(batching), "max_tokens: expected with method dynamic, found none"));
  batching.method = BatchingMethod::kPadded;
  CHECK(says(refusal(batching), "micro_batch: expected with method padded, found none"));
  batching.method = BatchingMethod::kBucketed;
  CHECK(says(refusal(batching), "buckets: expected with method bucketed, found none"));
}

TEST_CASE("batching: what cannot be followed is refused") {
  Batching batching = dynamic();
  batching.order = {0, 1, 1};
  CHECK(says(refusal(batching), "order: expected each of 0, 1 and 2 once, found others"));
  batching = dynamic();
  batching.longest = 101;
  CHECK(says(refusal(batching),
             "times: expected lengths up to the longest sample (101), found up to 100"));
  batching = dynamic();
  std::swap(batching.times[0], batching.times[1]);
  CHECK(says(refusal(batching), "times: expected rising lengths, found 100 before 50"));
  batching = dynamic();
  batching.times[1].samples = {1, 8};
  CHECK(refusal(batching).find("expected at most 4 as of the shorter length, found 8") !=
        std::string::npos);
  batching = dynamic();
  batching.times[0].times.pop_back();
  CHECK(refusal(batching).find("expected a time for each of 3 sizes, found 2") !=
        std::string::npos);
  batching = dynamic();
  batching.compared[0].static_peaks.pop_back();
  CHECK(says(refusal(batching), "compared: expected as many peaks as stalls by rank"));
}

TEST_CASE("batching view: methods beside each other, the chosen one by rank, within 100 columns") {
  const std::string text =
      ppplan::render::batching_text(dynamic(), {Bytes{4 << 20}, Bytes{4 << 20}});
  CHECK(text.find("97.5 %") != std::string::npos);
  CHECK(text.find("75.0 % slower") != std::string::npos);
  CHECK(text.find("chosen") != std::string::npos);
  CHECK(text.find("3.0 MiB") != std::string::npos);
  CHECK(text.find("smallest first") != std::string::npos);
  CHECK(text.find("3 samples are cut to 100 tokens") != std::string::npos);
  std::size_t start = 0;
  for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    CHECK(ppplan::render::display_width(text.substr(start, end - start)) <= 100);
  }
}

}  // namespace
