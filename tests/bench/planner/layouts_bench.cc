// Prints how long planning large models on large clusters takes, over every layout, and how far the
// answer is from its bound. Not a test: nothing is asserted.
//   cmake --build build/release --target ppplan_layouts_bench &&
//   build/release/tests/ppplan_layouts_bench
#include "planner/partition.h"
#include "planner/rivals.h"
#include "reports/render/table.h"
#include "tests/support/estimated_profile.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <variant>

namespace {

using namespace ppplan;

struct Question {
  std::string name;
  Model model;
  Cluster cluster;
  std::string device;
  std::int64_t global_batch = 0;
};

void add_row(render::Table& table, const Question& question) {
  const Profile profile = testing::estimated_profile(
      question.model, {.device = question.device, .cluster = question.cluster});
  const auto start = std::chrono::steady_clock::now();
  const auto answer = planner::partition(profile, {.global_batch = question.global_batch});
  const Seconds taken = std::chrono::steady_clock::now() - start;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::vector<std::string> cells{question.name, std::to_string(question.cluster.device_count()),
                                 human(taken), human(Bytes{used.ru_maxrss * 1024})};
  if (const auto* planned = std::get_if<planner::Planned>(&answer)) {
    const Plan& plan = planned->plan;
    const planner::SearchCounts& search = planned->search;
    cells.push_back(human_count(search.candidate_count));
    cells.push_back(std::to_string(search.simulated_count));
    cells.push_back(planner::layout_words(plan.layout, static_cast<int>(plan.ranks.size())));
    cells.push_back(plan.schedule);
    cells.push_back(human(plan.predicted.step));
    cells.push_back(fmt::format("{:.1f} %", 100.0 * (plan.predicted.step / search.bound - 1.0)));
  } else {
    cells.push_back("none fits");
  }
  table.row(std::move(cells));
}

}  // namespace

int main() {
  render::Table table({{"model", render::Align::kLeft},
                       {"devices"},
                       {"planned in"},
                       {"memory"},
                       {"candidates"},
                       {"simulated"},
                       {"layout", render::Align::kLeft},
                       {"schedule", render::Align::kLeft},
                       {"step"},
                       {"over bound"}});
  testing::ModelSizes small;
  small.name = "8b";
  small.block_count = 30;  // 32 layers with embedding and head
  for (const Question& question :
       {Question{"32 layers", testing::llama_of(small), {1, 8}, "a100-80g", 64},
        Question{"61 mixed layers", testing::mixed_61_layers(), {32, 8}, "h100-sxm", 1024},
        Question{"405b, 126 blocks", testing::llama_405b(), {128, 8}, "h100-sxm", 2048}}) {
    add_row(table, question);
  }
  fmt::print("{}", table.text({.width = 160}));
}
