#include "planner/partition.h"

#include "planner/question.h"
#include "planner/schedule/planned.h"
#include "reports/documents/error.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace ppplan::planner {
namespace {

using testing::random_layers;
using testing::synthetic_profile;
using testing::SyntheticLayer;
using testing::SyntheticOptions;
using testing::transformer_layers;

Planned plan_of(const Profile& profile, const PartitionOptions& options) {
  auto answer = partition(profile, options);
  REQUIRE(std::holds_alternative<Planned>(answer));
  return std::get<Planned>(std::move(answer));
}

std::vector<int> layer_counts(const Plan& plan) {
  std::vector<int> counts;
  for (const PlanStage& stage : plan.stages) counts.push_back(stage.layer_count);
  return counts;
}

/// Calls visit for every cut of `layer_count` layers whose end stages are not empty.
void for_each_cut(int layer_count, int stage_count, const std::function<void(const Cut&)>& visit) {
  Cut cut{0};
  const std::function<void()> extend = [&] {
    if (static_cast<int>(cut.size()) == stage_count) {
      cut.push_back(layer_count);
      visit(cut);
      cut.pop_back();
      return;
    }
    for (int next = std::max(1, cut.back()); next < layer_count; ++next) {
      cut.push_back(next);
      extend();
      cut.pop_back();
    }
  };
  extend();
}

/// The shortest step over every size, schedule and cut that fits, judged by simulator and
/// memory_peaks alone; infinity when none fits.
Seconds brute_force(const Profile& profile, const PartitionOptions& options) {
  const Question question = ask(profile, options);
  Seconds best{std::numeric_limits<double>::infinity()};
  for (const int stage_count : question.stage_counts) {
    for (const auto& basis : cost_bases(question, stage_count)) {
      for (const Candidate& candidate : candidates(question, basis, stage_count)) {
        for_each_cut(basis->chain.layer_count(), stage_count, [&](const Cut& cut) {
          const Evaluation evaluation = candidate.evaluate(cut);
          for (std::size_t rank = 0; rank < evaluation.memory.size(); ++rank) {
            if (evaluation.memory[rank].total() > candidate.allowed()[rank]) return;
          }
          best = std::min(best, evaluation.step);
        });
      }
    }
  }
  return best;
}

}  // namespace

TEST_CASE("partition: equal layers give equal stages") {
  const Profile profile = synthetic_profile(std::vector<SyntheticLayer>(8), {.latency_s = 0.0});
  const Planned planned = plan_of(
      profile, {.stage_count = 4, .global_batch = 16, .micro_batch = 1, .schedules = {"gpipe"}});
  CHECK(layer_counts(planned.plan) == std::vector<int>{2, 2, 2, 2});
  CHECK(planned.search.proven);
}

TEST_CASE("partition: one heavy layer stands alone") {
  std::vector<SyntheticLayer> layers(4);
  layers[2].forward_s *= 9;
  layers[2].backward_s *= 9;
  const Planned planned =
      plan_of(synthetic_profile(layers), {.stage_count = 3, .global_batch = 16});
  CHECK(layer_counts(planned.plan) == std::vector<int>{2, 1, 1});
}

TEST_CASE("partition: splits equal brute force on 200 random chains") {
  std::mt19937 random(1);
  for (int instance = 0; instance < 200; ++instance) {
    CAPTURE(instance);
    const int layer_count = 2 + static_cast<int>(random() % 9);
    const int stage_count = 1 + static_cast<int>(random() % std::min(layer_count, 5));
    const SyntheticOptions made{.device_count = stage_count,
                                .latency_s = 1e-3 * static_cast<double>(random() % 3),
                                .call_overhead_s = 1e-4 * static_cast<double>(random() % 2),
                                .busy_slowdown = 1.2,
                                .tied_ends = random() % 2 == 0};
    const Profile profile = synthetic_profile(random_layers(random, layer_count), made);
    const PartitionOptions options{.stage_count = stage_count,
                                   .global_batch = 1 + static_cast<int>(random() % 12)};
    const Planned planned = plan_of(profile, options);
    CHECK(planned.search.proven);
    CHECK(planned.plan.predicted.step.count() ==
          doctest::Approx(brute_force(profile, options).count()).epsilon(1e-9));
    CHECK(planned.plan.lower_bound <= planned.plan.predicted.step);
  }
}

TEST_CASE("partition: where memory binds, splits equal brute force, and only then none fits") {
  std::mt19937 random(2);
  int infeasible_count = 0;
  for (int instance = 0; instance < 200; ++instance) {
    CAPTURE(instance);
    const int layer_count = 3 + static_cast<int>(random() % 6);
    const int stage_count = 2 + static_cast<int>(random() % 3);
    if (stage_count > layer_count) continue;
    const Profile profile = synthetic_profile(random_layers(random, layer_count),
                                              {.device_count = stage_count, .tied_ends = true});
    const PartitionOptions options{
        .stage_count = stage_count,
        .global_batch = 1 + static_cast<int>(random() % 8),
        .memory = Bytes{20'000 + 1000 * static_cast<int>(random() % 150)}};
    const Seconds best = brute_force(profile, options);
    const auto answer = partition(profile, options);
    if (const auto* planned = std::get_if<Planned>(&answer)) {
      CHECK(planned->search.proven);
      CHECK(planned->plan.predicted.step.count() == doctest::Approx(best.count()).epsilon(1e-9));
      for (const PlanRank& rank : planned->plan.ranks)
        CHECK(rank.memory.total() <= *options.memory);
    } else {
      ++infeasible_count;
      CHECK(best.count() == std::numeric_limits<double>::infinity());
    }
  }
  CHECK(infeasible_count > 10);
  CHECK(infeasible_count < 190);
}

}  // namespace ppplan::planner
