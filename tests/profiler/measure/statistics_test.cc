#include "profiler/measure/statistics.h"

#include "profiler/measure/links.h"

#include <doctest/doctest.h>

namespace ppplan::profiler {

TEST_CASE("statistics: the median of an even count lies between the middle two") {
  const Timing timing = summarize({4.0, 1.0, 3.0, 2.0});
  CHECK(timing.median.count() == doctest::Approx(2.5));
  CHECK(timing.spread == doctest::Approx(0.6));  // whole range: too few for an interval
  CHECK(timing.repeats == 4);
}

TEST_CASE("statistics: one outlier among many moves neither median nor interval") {
  std::vector<double> samples(40, 1.0);
  samples.push_back(1000.0);
  CHECK(summarize(samples).median.count() == doctest::Approx(1.0));
  CHECK(summarize(samples).spread == doctest::Approx(0.0));
}

TEST_CASE("links: a line of latency and rate is found again") {
  Link link;
  for (const std::int64_t size : {4096LL, 65536LL, 1048576LL, 33554432LL}) {
    const Seconds time(1e-4 + static_cast<double>(size) / 2e9);
    link.samples.push_back({Bytes{size}, Timing{.median = time, .repeats = 5}});
  }
  fit(link);
  CHECK(link.latency.count() == doctest::Approx(1e-4));
  CHECK(link.bandwidth.value == doctest::Approx(2e9));
  CHECK(link.fit_error < 1e-9);
}

}  // namespace ppplan::profiler
