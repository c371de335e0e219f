// The picture of every schedule that ppplan knows by name, as people see it.
#include "planner/schedule/generators.h"
#include "planner/schedule/simulator.h"
#include "reports/render/timeline.h"
#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include <string>

using namespace ppplan;
using namespace ppplan::planner;

TEST_CASE("timeline: each named schedule of 4 ranks and 8 micro-batches looks as reviewed") {
  for (const std::string& name : schedule_names()) {
    CAPTURE(name);
    const auto schedule = std::get<Schedule>(
        make_schedule(name, {.rank_count = 4, .micro_batch_count = 8, .virtual_count = 2}));
    tests::check_golden(
        render::timeline_text(schedule, simulate(schedule, uniform_costs(schedule, {}))),
        "timeline/" + name + ".txt");
  }
}
