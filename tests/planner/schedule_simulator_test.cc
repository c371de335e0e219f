// The simulator against a golden table and closed forms.
#include "planner/schedule/generators.h"
#include "planner/schedule/simulator.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace ppplan;
using namespace ppplan::planner;

namespace {

Schedule made(const char* name, int rank_count, int micro_batch_count) {
  return std::get<Schedule>(
      make_schedule(name, {.rank_count = rank_count, .micro_batch_count = micro_batch_count}));
}

}  // namespace

TEST_CASE("simulator: 1F1B with transfers gives the known bubbles") {
  struct Row {
    int ranks, micro_batches;
    double forward_ms, input_ms, weight_ms, transfer_ms, bubble;
  };
  const std::vector<Row> rows = {{8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431},
                                 {8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985},
                                 {8, 64, 18.546, 18.097, 9.321, 0.762, 0.1240},
                                 {8, 24, 29.718, 29.444, 19.927, 0.527, 0.2347},
                                 {16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552},
                                 {32, 96, 10.419, 10.207, 7.715, 0.408, 0.2646}};
  for (const Row& row : rows) {
    CAPTURE(row.ranks);
    CAPTURE(row.micro_batches);
    const Schedule schedule = made("1f1b", row.ranks, row.micro_batches);
    const ScheduleCosts costs =
        uniform_costs(schedule, {.forward = Seconds(row.forward_ms / 1e3),
                                 .backward_input = Seconds(row.input_ms / 1e3),
                                 .backward_weight = Seconds(row.weight_ms / 1e3),
                                 .transfer = Seconds(row.transfer_ms / 1e3)});
    const Timeline timeline = simulate(schedule, costs);
    CHECK(std::abs(timeline.bubble() - row.bubble) < 0.5e-4);
  }
}

TEST_CASE("simulator: naive runs one micro-batch after the other") {
  const Schedule schedule = made("naive", 3, 4);
  const ScheduleCosts costs = uniform_costs(schedule, {.transfer = Seconds(0.25)});
  CHECK(simulate(schedule, costs).makespan.count() == doctest::Approx(4 * (3 * 3.0 + 4 * 0.25)));
  for (const RankMemory& memory : memory_peaks(schedule, costs)) CHECK(memory.in_flight == 1);
}

TEST_CASE("simulator: the call overhead lengthens every action") {
  const Schedule schedule = made("gpipe", 1, 2);
  ScheduleCosts costs = uniform_costs(schedule, {});
  costs.call_overhead = Seconds(0.5);
  CHECK(simulate(schedule, costs).makespan.count() == doctest::Approx(2 * 3 + 4 * 0.5));
}

TEST_CASE("simulator: micro-batches of another class have their own times") {
  const Schedule schedule = made("1f1b", 2, 3);
  ScheduleCosts costs = uniform_costs(schedule, {});
  for (std::vector<StageCost>& classes : costs.stages) {
    classes.push_back(classes.front());
    classes.back().forward = Seconds(4);
  }
  costs.class_of_micro_batch = {0, 0, 1};
  const Timeline timeline = simulate(schedule, costs);
  CHECK(timeline.busy[0].count() == doctest::Approx(1 + 1 + 4 + 3 * 2));
}

TEST_CASE("memory: activations, gradients and buffers peak where they should") {
  const Schedule schedule = made("1f1b", 2, 3);
  ScheduleCosts costs = uniform_costs(schedule, {});
  for (std::vector<StageCost>& classes : costs.stages) {
    classes[0].saved = Bytes{100};
    classes[0].forward_peak = Bytes{130};
    classes[0].backward_peak = Bytes{70};
    classes[0].output = Bytes{10};
  }
  const std::vector<RankMemory> peaks = memory_peaks(schedule, costs);
  // Rank 0: F0 F1 B0 F2 B1 B2; fullest in F1 (100 + 130, and F0's output on its way).
  CHECK(peaks[0].in_flight == 2);
  CHECK(peaks[0].activations == Bytes{200});
  CHECK(peaks[0].transient == Bytes{70});
  CHECK(peaks[0].buffers == Bytes{20});
  CHECK(peaks[0].total() == Bytes{290});
  CHECK(peaks[1].in_flight == 1);
}

TEST_CASE("memory: split backwards hold until the weight gradient is done") {
  Schedule schedule = made("gpipe", 1, 1);
  schedule.ranks[0] = {{ActionKind::kForward, false, 0, 0},
                       {ActionKind::kBackwardInput, false, 0, 0},
                       {ActionKind::kBackwardWeight, false, 0, 0}};
  ScheduleCosts costs = uniform_costs(schedule, {});
  costs.stages[0][0].saved = Bytes{100};
  costs.stages[0][0].weight_pending = Bytes{40};
  CHECK(memory_peaks(schedule, costs)[0].total() == Bytes{140});
}
