// The picture of a schedule: to scale, never too wide.
#include "reports/render/timeline.h"

#include "planner/schedule/generators.h"
#include "planner/schedule/simulator.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

using namespace ppplan;
using namespace ppplan::planner;

namespace {

std::string drawn(const char* name, int rank_count, int micro_batch_count,
                  const render::TimelineOptions& options = {}) {
  const auto schedule = std::get<Schedule>(
      make_schedule(name, {.rank_count = rank_count, .micro_batch_count = micro_batch_count}));
  return render::timeline_text(schedule, simulate(schedule, uniform_costs(schedule, {})), options);
}

}  // namespace

TEST_CASE("timeline: a small schedule is drawn to scale with its names") {
  CHECK(drawn("gpipe", 2, 2) ==
        "rank 0 │F0F1      B0══B1══│\n"
        "rank 1 │  F0F1B0══B1══    │\n"
        "        0 s         9.00 s\n"
        "F forward  B backward\n");
}

TEST_CASE("timeline: no line is wider than asked, whatever the schedule") {
  for (const int micro_batch_count : {1, 7, 100, 3000}) {
    for (const std::size_t width : {40, 80, 100}) {
      std::istringstream lines(
          drawn("1f1b", 11, micro_batch_count, {.width = width, .most_ranks = 4}));
      int count = 0;
      for (std::string line; std::getline(lines, line); ++count) {
        CHECK(render::display_width(line) <= width);
      }
      CHECK(count == 4 + 1 + 2);
    }
  }
}

TEST_CASE("timeline: of a long run the beginning and the end are drawn, in which actions show") {
  const std::string text = drawn("1f1b", 2, 1000, {.width = 60});
  CHECK(text ==
        "rank 0 │F0F1    B0══F2B1══F3B2══F┊BFFB996FFB997FFB998  B999│\n"
        "rank 1 │  F0B0══F1B1══F2B2══F3B3═┊BBBFFB997FFB998FFB999    │\n"
        "        0 s               12.50 s┊2990.50 s       3003.00 s\n"
        "F forward  B backward  ┊ left out\n");
}

TEST_CASE("timeline: colours appear only when asked, and end where their action ends") {
  CHECK(drawn("gpipe", 1, 1).find('\x1b') == std::string::npos);
  const std::string text = drawn("gpipe", 1, 1, {.style = render::Style::kColored});
  CHECK(text.find("\x1b[30;44mF0") != std::string::npos);
  CHECK(text.find("\x1b[0m│") != std::string::npos);
}

TEST_CASE("timeline: nothing to draw is no picture") {
  CHECK(render::timeline_text(Schedule{}, Timeline{}).empty());
}
