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

TEST_CASE("in-flight timeline: 1F1B of two ranks holds as worked out by hand") {
  // Rank 0: F0 [0,1] F1 [1,2]  B0 [4,6] F2 [6,7] B1 [7,9]  B2 [10,12]; rank 1: F B from 1 on.
  const Schedule schedule = made("1f1b", 2, 3);
  const auto held = in_flight_timeline(schedule, simulate(schedule, uniform_costs(schedule, {})));
  const auto times = [&](std::size_t rank) {
    std::vector<double> moments;
    for (const HeldStep& step : held[rank]) moments.push_back(step.from.count());
    return moments;
  };
  const auto levels = [&](std::size_t rank) {
    std::vector<int> counts;
    for (const HeldStep& step : held[rank]) counts.push_back(step.in_flight);
    return counts;
  };
  CHECK(times(0) == std::vector<double>{0, 1, 9, 12});
  CHECK(levels(0) == std::vector<int>{1, 2, 1, 0});
  CHECK(times(1) == std::vector<double>{0, 1, 10});
  CHECK(levels(1) == std::vector<int>{0, 1, 0});
}

TEST_CASE("in-flight timeline: its highest step is the peak, its last one is empty") {
  for (const std::string& name : schedule_names()) {
    CAPTURE(name);
    const Schedule schedule = made(name, 3, 7);
    const ScheduleCosts costs = uniform_costs(schedule, {.transfer = Seconds(0.3)});
    const auto held = in_flight_timeline(schedule, simulate(schedule, costs));
    const std::vector<RankMemory> peaks = memory_peaks(schedule, costs);
    for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
      const auto highest = std::ranges::max_element(held[rank], {}, &HeldStep::in_flight);
      CHECK(highest->in_flight == peaks[rank].in_flight);
      CHECK(held[rank].back().in_flight == 0);
    }
  }
}

TEST_CASE("memory timeline: two ranks' bytes, action by action, worked out by hand") {
  const Schedule schedule = made("1f1b", 2, 2);
  ScheduleCosts costs = uniform_costs(schedule, {});
  for (std::vector<StageCost>& classes : costs.stages) {
    classes[0].saved = Bytes{100};
    classes[0].forward_peak = Bytes{130};
    classes[0].backward_peak = Bytes{70};
    classes[0].output = Bytes{10};
  }
  const auto samples = memory_timeline(schedule, costs, simulate(schedule, costs));
  // Rank 0: F0 130; F1 100 + 130 and F0's output 10; B0 200 + 70 and F1's output, the gradient; B1
  // 100 + 70 and the gradient.
  std::vector<std::int64_t> totals;
  std::vector<double> finishes;
  for (const MemorySample& sample : samples[0]) {
    totals.push_back(sample.memory.total().count);
    finishes.push_back(sample.finish.count());
  }
  CHECK(totals == std::vector<std::int64_t>{130, 240, 290, 180});
  CHECK(finishes == std::vector<double>{1, 2, 6, 9});
}

TEST_CASE("exposed communication: only what the rank waits for a tensor on its way") {
  // p = 2, m = 2, 1F1B, transfers of 0.5. Rank 1: F0 [1.5,2.5] B0 [2.5,4.5] F1 [4.5,5.5] B1
  // [5.5,7.5]. Rank 0: F0 [0,1] F1 [1,2] B0 [5,7], after 2.5 of waiting for rank 1 and 0.5 for the
  // gradient, B1 [8,10], after 0.5 and 0.5.
  const Schedule schedule = made("1f1b", 2, 2);
  const ScheduleCosts costs = uniform_costs(schedule, {.transfer = Seconds(0.5)});
  const Timeline timeline = simulate(schedule, costs);
  CHECK(timeline.makespan.count() == doctest::Approx(10.0));
  const std::vector<Seconds> exposed = exposed_communication(schedule, timeline);
  CHECK(exposed[0].count() == doctest::Approx(1.0));
  CHECK(exposed[1].count() == doctest::Approx(0.5));
  // Without transfers: 9 s, 6 idle, of which rank 1 fills 1 s and rank 0 waits between and drains.
  const BubbleCauses causes = bubble_causes(schedule, costs, timeline);
  CHECK(causes.transfer.count() == doctest::Approx(2.0));
  CHECK((causes.fill + causes.drain).count() == doctest::Approx(6.0));
  CHECK(causes.imbalance.count() == doctest::Approx(0.0));
  // The next step's F0 may start when rank 0 is free: nothing overlaps it with this one's end.
  CHECK(steady_period(schedule, costs).count() == doctest::Approx(10.0));
}

TEST_CASE("bubble causes: an uneven stage of two, worked out by hand") {
  // F = 1, B = 2 on rank 0 and twice as long on rank 1, m = 1: 1 + 2 + 4 + 2 = 9; rank 0 waits 6,
  // rank 1 waits 1 and 2. With equal ranks of 4.5 each: 1.5 + 1.5 + 3 + 3 = 9, rank 0 waits 4.5
  // for its backward, rank 1 waits 1.5 before and 3 after.
  const Schedule schedule = made("1f1b", 2, 1);
  ScheduleCosts costs = uniform_costs(schedule, {});
  costs.stages[1][0].forward *= 2;
  costs.stages[1][0].backward *= 2;
  const BubbleCauses causes = causes_of(schedule, costs);
  CHECK(causes.fill.count() == doctest::Approx(4.5 + 1.5));
  CHECK(causes.drain.count() == doctest::Approx(3.0));
  CHECK(causes.imbalance.count() == doctest::Approx(0.0));
  CHECK(causes.transfer.count() == doctest::Approx(0.0));
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
