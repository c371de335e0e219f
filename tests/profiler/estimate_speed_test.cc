#include "profiler/estimate/data_sheets.h"
#include "profiler/estimate/estimate.h"
#include "profiler/estimate/roofline.h"
#include "profiler/models/counts.h"
#include "tests/support/estimated_profile.h"

#include <doctest/doctest.h>

#include <string>

namespace ppplan::profiler {
namespace {

/// The row of `kind` at the options' only micro-batch, sequence and degree, not in chunks.
const Measurement& only_row(const Profile& profile, int kind, Recompute recompute) {
  for (const Measurement& row : profile.measurements) {
    if (row.kind == kind && row.recompute == recompute && row.recompute_chunk == 0) return row;
  }
  FAIL("no such row");
  return profile.measurements.front();
}

Profile one_shape(const Model& model, const std::string& device, std::int64_t sequence,
                  int micro_batch = 1) {
  return estimate(model, {.device = find_data_sheet(device),
                          .cluster = {1, 8},
                          .micro_batches = {micro_batch},
                          .sequences = {sequence}});
}

TEST_CASE(
    "estimate: large products reach the sheet's efficiency, small ones fall as calculon's do") {
  DeviceSheet sheet = find_data_sheet("a100-80g");
  sheet.matrix_efficiency = 0.95;
  sheet.kernel_overhead = Seconds(0);
  const Roofline roofline(sheet, kMegatronBfloat16);
  const auto efficiency = [&](double size) {
    const double flops = 2.0 * size * size * size;
    return flops / roofline.product({size, size, size, 0.0}).device.count() /
           sheet.half_flops_per_s;
  };
  CHECK(efficiency(4096) == doctest::Approx(0.95).epsilon(0.01));  // 137 GFLOP
  CHECK(efficiency(2048) == doctest::Approx(0.90).epsilon(0.03));  // 17
  CHECK(efficiency(768) == doctest::Approx(0.60).epsilon(0.05));   // 0.9
  CHECK(efficiency(100) < efficiency(128));                        // a tile that is not full
}

TEST_CASE("estimate: a block of Llama-2-7B on an A100 computes at 45 to 65 % of the peak") {
  const Model model = testing::llama_of({.hidden = 4096,
                                         .head_count = 32,
                                         .kv_head_count = 32,
                                         .feed_forward = 11008,
                                         .vocabulary = 32000});
  const Profile profile = one_shape(model, "a100-80g", 4096);
  const Measurement& block = only_row(profile, 1, Recompute::kNone);
  const double flops = 4096.0 * count_kind(model, 1, {.sequence = 4096}).training_flops_per_token;
  const double rate = flops / (block.forward.median + block.backward.median).count();
  CHECK(rate / 312e12 > 0.45);
  CHECK(rate / 312e12 < 0.65);
  // Korthikanti et al. 2022, table 5: full recompute adds 30 to 40 %.
  const Measurement& full = only_row(profile, 1, Recompute::kFull);
  const double more = full.recompute_extra / (block.forward.median + block.backward.median);
  CHECK(more > 0.30);
  CHECK(more < 0.40);
}

TEST_CASE("estimate: a boundary of hidden 12288 and 2048 tokens crosses NVLink in about 200 us") {
  const Profile profile =
      one_shape(testing::llama_of({.hidden = 12288, .head_count = 96}), "a100-80g", 2048);
  const Link& link = profile.links.front();
  REQUIRE(link.scope == LinkScope::kInside);
  const Bytes boundary = only_row(profile, 1, Recompute::kNone).output;
  CHECK(boundary.count == 12288 * 2048 * 2);
  const Seconds transfer = link.latency + boundary / link.bandwidth;
  CHECK(transfer.count() == doctest::Approx(200e-6).epsilon(0.1));
}

TEST_CASE("estimate: a small layer takes as long as its host needs to start it") {
  const Model model =
      testing::llama_of({.hidden = 256, .head_count = 2, .kv_head_count = 2, .feed_forward = 688});
  const Profile small = one_shape(model, "h100-sxm", 16);
  const Profile larger = one_shape(model, "h100-sxm", 64);
  CHECK(only_row(small, 1, Recompute::kNone).forward.median ==
        only_row(larger, 1, Recompute::kNone).forward.median);
  CHECK(only_row(small, 1, Recompute::kNone).forward.median > Seconds(0.2e-3));
}

}  // namespace
}  // namespace ppplan::profiler
