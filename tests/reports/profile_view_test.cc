#include "reports/render/profile_view.h"

#include "tests/support/golden.h"

#include <doctest/doctest.h>

namespace ppplan::render {
namespace {

Measurement row(int kind, int micro_batch, int workers, double forward_s) {
  Measurement result;
  result.kind = kind;
  result.micro_batch = micro_batch;
  result.sequence = 128;
  result.concurrent_workers = workers;
  result.forward = {.median = Seconds(forward_s), .spread = 0.01, .repeats = 9};
  result.backward = {.median = Seconds(2 * forward_s), .spread = 0.02, .repeats = 9};
  result.saved = Bytes{micro_batch * (1LL << 20)};
  return result;
}

TEST_CASE("profile view: alone beside busy, unstable rows marked, links below") {
  Profile profile;
  profile.model.name = "tiny";
  profile.model.kinds.resize(2);
  profile.model.kinds[0].name = "embedding";
  profile.model.kinds[1].name = "block";
  profile.devices.resize(2);
  profile.devices[0].name = "Test CPU";
  profile.target_spread = 0.03;
  profile.measurements = {row(1, 2, 1, 0.02), row(1, 2, 2, 0.025), row(0, 1, 1, 0.0001)};
  profile.measurements[1].stable = false;
  profile.measurements[1].backward.spread = 0.12;
  profile.links.push_back({.name = "loopback",
                           .backend = "gloo",
                           .latency = Seconds(0.0002),
                           .bandwidth = BytesPerSecond{1.5e9},
                           .fit_error = 0.08,
                           .samples = {}});
  profile.links.push_back(profile.links.front());
  profile.links.back().name = "exchange";
  tests::check_golden(profile_view(profile, {}), "profile_view/small.txt");
}

}  // namespace
}  // namespace ppplan::render
