// Where a bubble comes from, what transfers cost, how memory moves, how steps follow each other.
#include "planner/schedule/analysis.h"
#include "planner/schedule/generators.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

using namespace ppplan;
using namespace ppplan::planner;

namespace {

Schedule made(const std::string& name, int rank_count, int micro_batch_count) {
  return std::get<Schedule>(make_schedule(
      name,
      {.rank_count = rank_count, .micro_batch_count = micro_batch_count, .virtual_count = 2}));
}

BubbleCauses causes_of(const Schedule& schedule, const ScheduleCosts& costs) {
  return bubble_causes(schedule, costs, simulate(schedule, costs));
}

}  // namespace

TEST_CASE("bubble causes: 1F1B on even stages fills and drains, nothing else") {
  const Schedule schedule = made("1f1b", 4, 8);
  const BubbleCauses causes = causes_of(schedule, uniform_costs(schedule, {}));
  CHECK(causes.imbalance.count() == doctest::Approx(0.0));
  CHECK(causes.transfer.count() == doctest::Approx(0.0));
  CHECK((causes.fill + causes.drain).count() == doctest::Approx(4 * 3 * 3.0));
}

TEST_CASE("bubble causes: a slow stage is imbalance, a slow link is transfer") {
  const Schedule schedule = made("1f1b", 4, 16);
  ScheduleCosts costs = uniform_costs(schedule, {});
  const BubbleCauses even = causes_of(schedule, costs);
  costs.stages[2][0].backward *= 2;
  const BubbleCauses uneven = causes_of(schedule, costs);
  CHECK(uneven.imbalance > Seconds(3 * 15.0));
  CHECK(uneven.transfer.count() == doctest::Approx(0.0));
  CHECK(even.imbalance.count() == doctest::Approx(0.0));
  const BubbleCauses linked =
      causes_of(schedule, uniform_costs(schedule, {.transfer = Seconds(1)}));
  CHECK(linked.transfer > Seconds(4));
  CHECK(linked.fill.count() == doctest::Approx(even.fill.count()));
}

TEST_CASE("bubble causes: they sum to the idle time of every schedule") {
  for (const std::string& name : schedule_names()) {
    CAPTURE(name);
    const Schedule schedule = made(name, 4, 9);
    ScheduleCosts costs = uniform_costs(schedule, {.transfer = Seconds(0.3)});
    costs.call_overhead = Seconds(0.01);
    costs.stages[1][0].forward *= 1.7;
    const Timeline timeline = simulate(schedule, costs);
    const Seconds busy = std::accumulate(timeline.busy.begin(), timeline.busy.end(), Seconds(0));
    CHECK(bubble_causes(schedule, costs, timeline).total().count() ==
          doctest::Approx((timeline.makespan * 4 - busy).count()));
  }
}

TEST_CASE("exposed communication: a chain of two ranks waits for each hop") {
  const Schedule schedule = made("naive", 2, 1);
  const Timeline timeline =
      simulate(schedule, uniform_costs(schedule, {.transfer = Seconds(0.25)}));
  const std::vector<Seconds> exposed = exposed_communication(schedule, timeline);
  CHECK(exposed[0].count() == doctest::Approx(0.25));
  CHECK(exposed[1].count() == doctest::Approx(0.25));
}

TEST_CASE("memory timeline: its highest point is the peak") {
  for (const std::string& name : schedule_names()) {
    CAPTURE(name);
    const Schedule schedule = made(name, 3, 7);
    ScheduleCosts costs = uniform_costs(schedule, {});
    for (std::size_t stage = 0; stage < costs.stages.size(); ++stage) {
      StageCost& cost = costs.stages[stage][0];
      cost.saved = Bytes{100 + static_cast<int>(stage)};
      cost.forward_peak = Bytes{140};
      cost.backward_peak = Bytes{90};
      cost.weight_pending = Bytes{20};
      cost.output = Bytes{7};
    }
    const auto samples = memory_timeline(schedule, costs, simulate(schedule, costs));
    const std::vector<RankMemory> peaks = memory_peaks(schedule, costs);
    for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
      REQUIRE(samples[rank].size() == schedule.ranks[rank].size());
      Bytes highest;
      for (const MemorySample& sample : samples[rank]) {
        highest = std::max(highest, sample.memory.total());
      }
      CHECK(highest == peaks[rank].total());
    }
  }
}

TEST_CASE("steady period: ZB-H2 runs without a bubble from step to step, ZB-H1 does not") {
  const Schedule h1 = made("zb-h1", 4, 12);
  const Schedule h2 = made("zb-h2", 4, 12);
  CHECK(steady_period(h2, uniform_costs(h2, {})).count() == doctest::Approx(12 * 3.0));
  CHECK(steady_period(h1, uniform_costs(h1, {})).count() == doctest::Approx(12 * 3.0 + 3.0));
  for (const std::string& name : schedule_names()) {
    CAPTURE(name);
    const Schedule schedule = made(name, 4, 9);
    const ScheduleCosts costs = uniform_costs(schedule, {.transfer = Seconds(0.3)});
    CHECK(makespan(schedule, costs) == simulate(schedule, costs).makespan);
    CHECK(steady_period(schedule, costs) <= makespan(schedule, costs) * (1 + 1e-9));
  }
}
