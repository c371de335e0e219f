// Synthesized orders: legal, within memory, and never longer than the named ones.
#include "planner/schedule/checker.h"
#include "planner/schedule/generators.h"
#include "planner/schedule/local_search.h"
#include "planner/schedule/synthesize.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace ppplan;
using namespace ppplan::planner;

namespace {

std::vector<int> placement(int rank_count, int chunk_count, bool v_shaped) {
  std::vector<int> ranks;
  for (int chunk = 0; chunk < chunk_count; ++chunk) {
    for (int step = 0; step < rank_count; ++step) {
      ranks.push_back(v_shaped && chunk % 2 == 1 ? rank_count - 1 - step : step);
    }
  }
  return ranks;
}

ScheduleCosts random_costs(std::mt19937_64& random, std::size_t stage_count,
                           int micro_batch_count) {
  const auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  ScheduleCosts costs;
  const Seconds transfer(between(0, 0.4));
  for (std::size_t stage = 0; stage < stage_count; ++stage) {
    StageCost cost;
    cost.forward = Seconds(between(0.5, 2));
    cost.backward_input = Seconds(between(0.5, 2));
    cost.backward_weight = Seconds(between(0.2, 2));
    cost.backward = cost.backward_input + cost.backward_weight;
    cost.send_activation = cost.send_gradient = transfer;
    cost.saved = Bytes{100};
    cost.forward_peak = Bytes{110};
    cost.weight_pending = Bytes{5};
    costs.stages.push_back({cost});
  }
  costs.class_of_micro_batch.assign(static_cast<std::size_t>(micro_batch_count), 0);
  return costs;
}

}  // namespace

TEST_CASE("synthesis: never longer than the best named schedule under the same memory") {
  std::mt19937_64 random(7);
  int shorter = 0;
  for (int number = 0; number < 24; ++number) {
    CAPTURE(number);
    const int rank_count = 2 + number % 4;
    const int micro_batch_count = rank_count + number % 5;
    const std::vector<int> ranks = placement(rank_count, 1 + number % 2, number % 3 == 0);
    const ScheduleCosts costs = random_costs(random, ranks.size(), micro_batch_count);
    const std::vector<Bytes> memory(static_cast<std::size_t>(rank_count),
                                    Bytes{120LL * (rank_count + 2) * (1 + number % 2)});
    const auto synthesis =
        synthesize(ranks, costs, {.memory = memory, .simulated_actions = 200'000});
    REQUIRE(synthesis);
    const auto fault = check(synthesis->schedule);
    CHECK_MESSAGE(!fault, fault->message);
    CHECK(makespan(synthesis->schedule, costs) == synthesis->makespan);
    for (int rank = 0; rank < rank_count; ++rank) {
      CHECK(memory_peak(synthesis->schedule, costs, rank).total() <=
            memory[static_cast<std::size_t>(rank)]);
    }
    for (const std::string& name : schedule_names()) {
      const auto made = make_schedule(name, {.rank_count = rank_count,
                                             .micro_batch_count = micro_batch_count,
                                             .virtual_count = 1 + number % 2});
      const Schedule* named = std::get_if<Schedule>(&made);
      if (named == nullptr || named->rank_of_stage != ranks) continue;
      const std::vector<RankMemory> peaks = memory_peaks(*named, costs);
      const bool fits = std::ranges::all_of(
          peaks, [&](const RankMemory& peak) { return peak.total() <= memory.front(); });
      if (fits) CHECK(synthesis->makespan <= makespan(*named, costs));
    }
    if (synthesis->makespan < synthesis->named_makespan) ++shorter;
  }
  CHECK(shorter > 8);
}

TEST_CASE("synthesis: the same input gives the same order") {
  std::mt19937_64 random(3);
  const std::vector<int> ranks = placement(3, 1, false);
  const ScheduleCosts costs = random_costs(random, 3, 6);
  const auto once = synthesize(ranks, costs, {.simulated_actions = 100'000});
  const auto again = synthesize(ranks, costs, {.simulated_actions = 100'000});
  CHECK(once->schedule == again->schedule);
}

TEST_CASE("synthesis: nothing fits a rank too small for one micro-batch") {
  std::mt19937_64 random(3);
  const ScheduleCosts costs = random_costs(random, 2, 4);
  CHECK_FALSE(synthesize({0, 1}, costs, {.memory = {Bytes{1000}, Bytes{50}}}));
}

TEST_CASE("synthesis: a placement without a named schedule has an order too") {
  std::mt19937_64 random(5);
  const ScheduleCosts costs = random_costs(random, 5, 4);
  const auto synthesis = synthesize({0, 1, 1, 2, 0}, costs, {.simulated_actions = 100'000});
  REQUIRE(synthesis);
  CHECK(synthesis->best_named.empty());
  CHECK_FALSE(check(synthesis->schedule));
}

TEST_CASE("local search: a poor order gets better, a good one stays") {
  const auto naive =
      std::get<Schedule>(make_schedule("naive", {.rank_count = 3, .micro_batch_count = 5}));
  const ScheduleCosts costs = uniform_costs(naive, {});
  const Improved improved = improve(naive, costs, {.memory = {}, .simulated_actions = 1'000'000});
  CHECK(improved.makespan.count() < 0.7 * makespan(naive, costs).count());
  CHECK_FALSE(check(improved.schedule));
  const auto best =
      std::get<Schedule>(make_schedule("1f1b", {.rank_count = 3, .micro_batch_count = 5}));
  CHECK(improve(best, costs, {.memory = {}, .simulated_actions = 100'000}).makespan ==
        makespan(best, costs));
}
