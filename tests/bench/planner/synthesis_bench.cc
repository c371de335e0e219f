// By how much synthesized orders beat the best named ones, over random uneven pipelines.
#include "planner/schedule/checker.h"
#include "planner/schedule/synthesize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace ppplan;
using namespace ppplan::planner;

namespace {

/// A pipeline whose stages differ by a factor of up to three, with transfers, and memory for
/// between one and all micro-batches.
struct Pipeline {
  std::vector<int> rank_of_stage;
  ScheduleCosts costs;
  std::vector<Bytes> memory;
};

Pipeline random_pipeline(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](double low, double high) {  // equal on every standard library
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  const auto rank_count = static_cast<int>(between(2, 9));
  const auto micro_batch_count = static_cast<int>(between(rank_count, 4 * rank_count + 1));
  const auto placement = static_cast<int>(between(0, 3));  // one stage a rank, loop, V
  Pipeline pipeline;
  const int chunk_count = placement == 0 ? 1 : 2;
  for (int chunk = 0; chunk < chunk_count; ++chunk) {
    for (int step = 0; step < rank_count; ++step) {
      const bool up = placement == 2 && chunk == 1;
      pipeline.rank_of_stage.push_back(up ? rank_count - 1 - step : step);
    }
  }
  const double transfer_s = between(0, 0.3) / chunk_count;
  for (std::size_t stage = 0; stage < pipeline.rank_of_stage.size(); ++stage) {
    StageCost cost;
    const double work_s = between(0.5, 1.5) / chunk_count;
    cost.forward = Seconds(work_s);
    cost.backward_input = Seconds(work_s * between(0.8, 1.3));
    cost.backward_weight = Seconds(work_s * between(0.5, 1.1));
    cost.backward = cost.backward_input + cost.backward_weight;
    cost.send_activation = cost.send_gradient = Seconds(transfer_s);
    cost.saved = Bytes{static_cast<std::int64_t>(between(80, 120)) / chunk_count};
    cost.forward_peak = cost.saved + Bytes{20};
    cost.backward_peak = Bytes{20};
    cost.weight_pending = Bytes{10};
    pipeline.costs.stages.push_back({cost});
  }
  pipeline.costs.class_of_micro_batch.assign(static_cast<std::size_t>(micro_batch_count), 0);
  const double held = between(std::min(rank_count + 1, micro_batch_count), micro_batch_count + 1);
  pipeline.memory.assign(static_cast<std::size_t>(rank_count),
                         Bytes{static_cast<std::int64_t>(130 * held + 100)});
  return pipeline;
}

/// No order is shorter: a rank waits for its first input and then has all its work to do.
double lower_bound_s(const Pipeline& pipeline) {
  const auto micro_batch_count = static_cast<double>(pipeline.costs.class_of_micro_batch.size());
  std::vector<double> head_s(pipeline.memory.size(), INFINITY);
  std::vector<double> busy_s(pipeline.memory.size(), 0.0);
  double arrival_s = 0.0;
  for (std::size_t stage = 0; stage < pipeline.rank_of_stage.size(); ++stage) {
    const auto rank = static_cast<std::size_t>(pipeline.rank_of_stage[stage]);
    const StageCost& cost = pipeline.costs.stages[stage].front();
    head_s[rank] = std::min(head_s[rank], arrival_s);
    busy_s[rank] += micro_batch_count * (cost.forward + cost.backward).count();
    const bool turns = stage + 1 < pipeline.rank_of_stage.size() &&
                       pipeline.rank_of_stage[stage + 1] == pipeline.rank_of_stage[stage];
    arrival_s += (cost.forward + (turns ? Seconds(0) : cost.send_activation)).count();
  }
  double bound_s = 0.0;
  for (std::size_t rank = 0; rank < busy_s.size(); ++rank) {
    bound_s = std::max(bound_s, head_s[rank] + busy_s[rank]);
  }
  return bound_s;
}

}  // namespace

int main() {
  constexpr int kCases = 200;
  std::vector<double> gains;
  double over_bound = 0;
  double named_over_bound = 0;
  std::map<std::string, int> beaten;
  int worse = 0;
  double processor_s = 0;
  for (int number = 0; number < kCases; ++number) {
    const Pipeline pipeline = random_pipeline(static_cast<std::uint64_t>(number) + 1);
    const std::clock_t begin = std::clock();
    const auto synthesis = synthesize(pipeline.rank_of_stage, pipeline.costs,
                                      {.memory = pipeline.memory, .simulated_actions = 5'000'000});
    processor_s += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    if (!synthesis || synthesis->best_named.empty()) continue;
    if (check(synthesis->schedule) || synthesis->makespan > synthesis->named_makespan) ++worse;
    gains.push_back(1.0 - synthesis->makespan / synthesis->named_makespan);
    over_bound += synthesis->makespan.count() / lower_bound_s(pipeline) - 1.0;
    named_over_bound += synthesis->named_makespan.count() / lower_bound_s(pipeline) - 1.0;
    ++beaten[synthesis->best_named];
  }
  std::ranges::sort(gains);
  const auto percent = [&](double quantile) {
    const double last = static_cast<double>(gains.size()) - 1.0;
    return 100.0 * gains[static_cast<std::size_t>(quantile * last)];
  };
  const auto shorter = std::ranges::count_if(gains, [](double gain) { return gain > 1e-9; });
  fmt::print("{} cases with a named schedule that fits; worse or faulty: {}; shorter: {}\n",
             gains.size(), worse, shorter);
  fmt::print(
      "time saved against the best named schedule: mean {:.2f} %, quartiles {:.2f} / {:.2f} / "
      "{:.2f} %, most {:.2f} %\n",
      100.0 * std::accumulate(gains.begin(), gains.end(), 0.0) / static_cast<double>(gains.size()),
      percent(0.25), percent(0.5), percent(0.75), percent(1.0));
  const auto count = static_cast<double>(gains.size());
  fmt::print("mean over a lower bound: synthesized {:.2f} %, best named {:.2f} %\n",
             100.0 * over_bound / count, 100.0 * named_over_bound / count);
  fmt::print("best named was:");
  for (const auto& [name, times] : beaten) fmt::print(" {} {}", name, times);
  fmt::print("\nprocessor time a case: {:.0f} ms\n", 1000.0 * processor_s / kCases);
}
