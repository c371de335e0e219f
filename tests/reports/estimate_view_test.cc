#include "reports/render/estimate_view.h"

#include "tests/support/golden.h"

#include <doctest/doctest.h>

namespace ppplan::render {
namespace {

Measurement row(int kind, int micro_batch, int tensor, Recompute recompute, double forward_s) {
  return {.kind = kind,
          .micro_batch = micro_batch,
          .sequence = 4096,
          .sharding = {.tensor = tensor},
          .recompute = recompute,
          .forward = {.median = Seconds(forward_s)},
          .backward = {.median = Seconds(2 * forward_s)},
          .saved = Bytes{1LL << 20},
          .forward_peak = Bytes{1LL << 21},
          .backward_peak = Bytes{1LL << 22}};
}

TEST_CASE("estimate view: one shape, by degree and what is recomputed; links; how many rows") {
  Profile profile;
  profile.model.name = "tiny";
  profile.model.kinds.resize(2);
  profile.model.kinds[0].name = "embedding";
  profile.model.kinds[1].name = "block";
  profile.devices.resize(8);
  profile.devices[0].name = "Test GPU";
  profile.cluster = {16, 8};
  profile.measurements = {
      row(0, 1, 1, Recompute::kNone, 1e-4), row(1, 1, 1, Recompute::kNone, 1e-2),
      row(1, 1, 1, Recompute::kFull, 1e-2), row(1, 1, 2, Recompute::kSelective, 5e-3),
      row(1, 2, 1, Recompute::kNone, 2e-2), row(1, 1, 1, Recompute::kFull, 1e-2)};
  profile.measurements.back().recompute_chunk = 512;
  profile.links = {{.name = "nvlink",
                    .backend = "nccl",
                    .scope = LinkScope::kInside,
                    .latency = Seconds(5e-6),
                    .bandwidth = {3.6e11},
                    .samples = {}},
                   {.name = "infiniband",
                    .backend = "nccl",
                    .scope = LinkScope::kBetween,
                    .latency = Seconds(1e-5),
                    .bandwidth = {4.5e10},
                    .samples = {}}};
  tests::check_golden(estimate_view(profile, {.width = 100}), "estimate_view/small.txt");
}

}  // namespace
}  // namespace ppplan::render
