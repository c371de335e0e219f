// How many actions a second the simulator, the checker and the generators pass on one core.
#include "planner/schedule/checker.h"
#include "planner/schedule/generators.h"
#include "planner/schedule/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <variant>
#include <vector>

using namespace ppplan;
using namespace ppplan::planner;

namespace {

/// Processor time of this program so far.
Seconds processor_time() {
  return Seconds(static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC));
}

/// Median processor time of a call, over at least three samples and half a second in all; a sample
/// makes as many calls as take 10 ms, since the clock's ticks are coarse.
Seconds median_time(const std::function<void()>& call) {
  std::vector<Seconds> times;
  const Seconds begin = processor_time();
  while (times.size() < 3 || processor_time() - begin < Seconds(0.5)) {
    const Seconds start = processor_time();
    Seconds taken{0};
    int calls = 0;
    for (; taken < Seconds(0.01); ++calls) {
      call();
      taken = processor_time() - start;
    }
    times.push_back(taken / calls);
  }
  std::ranges::nth_element(times, times.begin() + std::ssize(times) / 2);
  return times[times.size() / 2];
}

}  // namespace

int main() {
  struct Case {
    std::string name;
    int ranks, micro_batches, chunks;
  };
  const std::vector<Case> cases = {{"1f1b", 4, 8, 1},
                                   {"1f1b", 8, 64, 1},
                                   {"1f1b", 64, 512, 1},
                                   {"1f1b", 512, 4096, 1},
                                   {"interleaved-1f1b", 8, 64, 4},
                                   {"interleaved-1f1b", 64, 1024, 8},
                                   {"zb-v", 8, 64, 2},
                                   {"zb-v", 64, 4096, 2},
                                   {"gpipe", 16, 100'000, 1}};
  fmt::print(
      "million actions a second, one core\n{:<18}{:>6}{:>8}{:>4}{:>10} {:>10}{:>10}{:>10}{:>10}\n",
      "schedule", "p", "m", "v", "actions", "makespan", "timeline", "check", "generate");
  for (const auto& [name, ranks, micro_batches, chunks] : cases) {
    const ScheduleShape shape{
        .rank_count = ranks, .micro_batch_count = micro_batches, .virtual_count = chunks};
    const Schedule schedule = std::get<Schedule>(make_schedule(name, shape));
    const ScheduleCosts costs = uniform_costs(schedule, {.transfer = Seconds(0.1)});
    double action_count = 0;
    for (const std::vector<Action>& actions : schedule.ranks) {
      action_count += static_cast<double>(actions.size());
    }
    double sum = 0;  // keeps the calls from being left out
    const auto rate = [&](const std::function<void()>& call) {
      return action_count / median_time(call).count() / 1e6;
    };
    const double fast = rate([&] { sum += makespan(schedule, costs).count(); });
    const double full = rate([&] { sum += simulate(schedule, costs).makespan.count(); });
    const double checked = rate([&] { sum += check(schedule) ? 1 : 0; });
    const double made =
        rate([&] { sum += std::get<Schedule>(make_schedule(name, shape)).micro_batch_count; });
    fmt::print("{:<18}{:>6}{:>8}{:>4}{:>10.0f} {:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}{}\n", name,
               ranks, micro_batches, chunks, action_count, fast, full, checked, made,
               sum < 0 ? "!" : "");
  }
}
