// Prints how good cuts are: small chains under each schedule against brute force, long ones with
// several stages a rank against their bound. Not a test: nothing is asserted.
//   cmake --build build/release --target ppplan_cuts_bench && build/release/tests/ppplan_cuts_bench
#include "planner/partition.h"
#include "planner/schedule/generators.h"
#include "reports/render/table.h"
#include "tests/support/brute_force.h"
#include "tests/support/synthetic_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <variant>

namespace {

using namespace ppplan;
using planner::Planned;

constexpr int kInstances = 100;  ///< of each schedule

void add_small(render::Table& table, const std::string& schedule, std::mt19937& random) {
  int equal = 0;
  int proven = 0;
  double worst = 1.0;
  Seconds taken{0};
  for (int instance = 0; instance < kInstances; ++instance) {
    const auto [profile, options] = testing::small_instance(random, schedule, 8);
    const auto start = std::chrono::steady_clock::now();
    const auto answer = planner::partition(profile, options);
    taken += std::chrono::steady_clock::now() - start;
    const auto& planned = std::get<Planned>(answer);
    const double ratio = planned.plan.predicted.step / testing::brute_force(profile, options);
    worst = std::max(worst, ratio);
    equal += ratio <= 1.0 + 1e-9 ? 1 : 0;
    proven += planned.search.proven ? 1 : 0;
  }
  table.row({schedule, std::to_string(kInstances), std::to_string(equal), std::to_string(proven),
             fmt::format("{:.3f} %", 100.0 * (worst - 1.0)), human(taken / kInstances)});
}

void add_long(render::Table& table, const std::string& schedule, int layer_count, int rank_count) {
  std::mt19937 random(7);
  const Profile profile = testing::synthetic_profile(
      testing::random_layers(random, layer_count),
      {.device_count = rank_count, .micro_batches = {1, 2}, .latency_s = 2e-5});
  const auto start = std::chrono::steady_clock::now();
  const auto answer = planner::partition(profile, {.stage_count = rank_count,
                                                   .global_batch = 4 * rank_count,
                                                   .micro_batch = 1,
                                                   .schedules = {schedule}});
  const Seconds taken = std::chrono::steady_clock::now() - start;
  const auto& planned = std::get<Planned>(answer);
  table.row(
      {schedule, std::to_string(layer_count), std::to_string(rank_count),
       std::to_string(planned.plan.stages.size()), human(taken), human(planned.plan.predicted.step),
       fmt::format("{:.2f} %", 100.0 * (planned.plan.predicted.step / planned.search.bound - 1.0)),
       planned.search.proven ? "yes" : "no"});
}

}  // namespace

int main() {
  std::mt19937 random(21);
  render::Table small({{"schedule", render::Align::kLeft},
                       {"chains"},
                       {"equal"},
                       {"proven"},
                       {"worst"},
                       {"planned in"}},
                      "At most 8 layers, 4 ranks, 8 micro-batches: against every cut");
  for (const std::string& name : planner::schedule_names()) add_small(small, name, random);
  fmt::print("{}\n", small.text({.width = 120}));
  render::Table large({{"schedule", render::Align::kLeft},
                       {"layers"},
                       {"ranks"},
                       {"stages"},
                       {"planned in"},
                       {"step"},
                       {"over bound"},
                       {"proven"}},
                      "Long chains of layers that all differ");
  for (const char* name : {"zb-h1", "interleaved-1f1b", "looped-bfs", "zb-v", "v-half"}) {
    add_long(large, name, 16, 4);
    add_long(large, name, 32, 8);
    add_long(large, name, 128, 16);
    add_long(large, name, 500, 64);
  }
  fmt::print("{}", large.text({.width = 120}));
}
