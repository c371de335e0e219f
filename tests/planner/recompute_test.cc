// Segments of recomputing, and which one a stage gets.
#include "planner/recompute.h"

#include "planner/batch.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace ppplan::planner {
namespace {

/// Equal blocks, measured without recompute and with everything recomputed.
Profile blocks_that_recompute(int block_count) {
  Profile profile = testing::profile_of(
      testing::synthetic_profile({{}, {}}).model,
      {{.saved_bytes = 1000, .output_bytes = 100}, {.saved_bytes = 1000, .output_bytes = 100}},
      {.device_count = 1, .micro_batches = {1}});
  profile.model.layers.assign(static_cast<std::size_t>(block_count), profile.model.layers.front());
  std::vector<Measurement> full;
  for (Measurement& row : profile.measurements) {
    row.saved = Bytes{1000};
    row.forward_peak = row.backward_peak = Bytes{1};
    Measurement again = row;
    again.recompute = Recompute::kFull;
    again.saved = Bytes{100};
    again.backward.median += row.forward.median;
    again.backward_peak = Bytes{901};
    full.push_back(again);
  }
  profile.measurements.insert(profile.measurements.end(), full.begin(), full.end());
  return profile;
}

}  // namespace

TEST_CASE("recompute: segments of several layers: fewer inputs kept, more at once") {
  // Ten equal blocks that keep 1,000 bytes each, or their input of 100; one byte of workspace.
  const Profile profile = blocks_that_recompute(10);
  const ChainCosts chain(profile, CostTable(profile, 128, 1), split_batch(4, 1));
  const auto segmented = [&](int segment) {
    return chain.stage(0, 10, 0, {{0, 10, Recompute::kFull, segment}});
  };
  for (const int segment : {1, 2, 5, 10}) {
    CAPTURE(segment);
    const StageCost cost = segmented(segment);
    CHECK(cost.saved == Bytes{100 * (10 / segment)});
    // The last segment goes back first, with all inputs kept: a segment's activations, less the
    // input that is there already.
    CHECK(cost.backward_peak == Bytes{1000 * segment - 100 + 1});
    CHECK(cost.backward == segmented(1).backward);
  }
  // Korthikanti et al. 2022, as a known fault has it: k L / c inputs and c layers' activations are
  // least together where c = sqrt(k L input / activations), not for the longest segment.
  const auto peak = [&](int segment, int in_flight) {
    const StageCost cost = segmented(segment);
    return cost.saved.count * in_flight + cost.backward_peak.count;
  };
  CHECK(peak(2, 4) < peak(1, 4));  // sqrt(4 * 10 * 100 / 1000) = 2
  CHECK(peak(2, 4) < peak(5, 4));
  CHECK(peak(2, 4) < peak(10, 4));
}

TEST_CASE("recompute: of several segments the one that adds least is taken") {
  const Profile profile = blocks_that_recompute(10);
  const ChainCosts chain(profile, CostTable(profile, 128, 1), split_batch(4, 1));
  const auto fits = [&](std::int64_t allowed) {
    return [&chain, allowed](const RecomputeChoice& choice) {
      const StageCost cost = chain.stage(0, 10, 0, choice);
      return cost.saved.count * 4 + cost.backward_peak.count <= allowed;
    };
  };
  // Nothing recomputed needs 4 * 10,000 + 1; with all in single layers 4 * 1,000 + 901.
  CHECK(least_segmented_recompute(chain, 0, 10, Recompute::kFull, fits(40'001))->empty());
  CHECK(!least_recompute(chain, 0, 10, Recompute::kFull, fits(4'500)));
  const auto segments = least_segmented_recompute(chain, 0, 10, Recompute::kFull, fits(4'500));
  REQUIRE(segments);
  CHECK(segments->front().segment == 2);
  CHECK(added_time(chain, *segments).count() ==
        doctest::Approx(chain.added(0, Recompute::kFull).count() * 10));
  CHECK(!least_segmented_recompute(chain, 0, 10, Recompute::kNone, fits(4'500)));
}

}  // namespace ppplan::planner
