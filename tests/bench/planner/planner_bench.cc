// Prints how long planning takes as layers and devices grow. Not a test: nothing is asserted.
//   cmake --build build/release --target ppplan_planner_bench &&
//   build/release/tests/ppplan_planner_bench
#include "planner/partition.h"
#include "reports/render/table.h"
#include "tests/support/synthetic_profile.h"

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <variant>

namespace {

using namespace ppplan;

struct Size {
  int layer_count;
  int stage_count;
  int global_batch;
};

void add_row(render::Table& table, const Size& size, const char* layers, const Profile& profile,
             const planner::PartitionOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto answer = planner::partition(profile, options);
  const Seconds taken = std::chrono::steady_clock::now() - start;
  std::vector<std::string> cells{std::to_string(size.layer_count), std::to_string(size.stage_count),
                                 std::to_string(size.global_batch), layers, human(taken)};
  if (const auto* planned = std::get_if<planner::Planned>(&answer)) {
    const Plan& plan = planned->plan;
    cells.push_back(human(plan.predicted.step));
    cells.push_back(
        fmt::format("{:.1f} %", 100.0 * (plan.predicted.step / plan.lower_bound - 1.0)));
    cells.push_back(
        fmt::format("{:.2f} %", 100.0 * (plan.predicted.step / planned->search.bound - 1.0)));
    cells.push_back(plan.schedule);
    cells.push_back(std::to_string(plan.micro_batch));
    cells.push_back(std::to_string(planned->search.simulated_count));
    cells.push_back(planned->search.proven ? "yes" : "no");
  } else {
    cells.push_back("none fits");
  }
  table.row(std::move(cells));
}

}  // namespace

int main() {
  render::Table table({{"layers"},
                       {"stages"},
                       {"batch"},
                       {"kinds", render::Align::kLeft},
                       {"planned in"},
                       {"step"},
                       {"over bound"},
                       {"over cut bound"},
                       {"schedule"},
                       {"size"},
                       {"simulated"},
                       {"proven"}});
  for (const Size size :
       {Size{26, 2, 16}, Size{32, 4, 32}, Size{32, 8, 64}, Size{128, 16, 128}, Size{500, 16, 128},
        Size{500, 64, 256}, Size{500, 64, 512}, Size{1000, 64, 512}}) {
    const testing::SyntheticOptions made{.device_count = size.stage_count, .latency_s = 2e-5};
    std::mt19937 random(7);
    const planner::PartitionOptions options{.stage_count = size.stage_count,
                                            .global_batch = size.global_batch};
    add_row(table, size, "equal blocks",
            testing::synthetic_profile(testing::transformer_layers(size.layer_count - 2), made),
            options);
    add_row(table, size, "all different",
            testing::synthetic_profile(testing::random_layers(random, size.layer_count), made),
            options);
  }
  fmt::print("{}", table.text({.width = 120}));
}
