#include "planner/explain.h"

#include "planner/default_splits.h"
#include "planner/partition.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace ppplan::planner {
namespace {

using doctest::Approx;
using testing::random_layers;
using testing::synthetic_profile;
using testing::SyntheticLayer;

Plan plan_of(const Profile& profile, const PartitionOptions& options) {
  auto answer = partition(profile, options);
  REQUIRE(std::holds_alternative<Planned>(answer));
  return std::get<Planned>(std::move(answer)).plan;
}

Explanation explained(const Profile& profile, const Plan& plan) {
  Progress nobody;
  return explain(profile, plan, nobody);
}

Seconds step_without(const Explanation& explanation, Obstacle obstacle) {
  return std::ranges::find(explanation.reliefs, obstacle, &Relief::obstacle)->step;
}

/// Three layers of which the middle one takes four times as long; transfers, the optimizer and
/// calls cost nothing.
Profile heavy_middle() {
  const SyntheticLayer light{.output_bytes = 0, .optimizer_s = 0.0};
  SyntheticLayer heavy = light;
  heavy.forward_s = 4e-3;
  heavy.backward_s = 8e-3;
  return synthetic_profile({light, heavy, light}, {.device_count = 3, .latency_s = 0.0});
}

/// An embedding of `embedding_layers` layers, blocks and a head.
Model model_of(int embedding_layers, int block_count) {
  Model model;
  model.kinds = {{.name = "embedding", .role = LayerRole::kEmbedding},
                 {.name = "block", .role = LayerRole::kBlock},
                 {.name = "head", .role = LayerRole::kHead}};
  for (int layer = 0; layer < embedding_layers; ++layer) model.layers.push_back({.kind = 0});
  for (int layer = 0; layer < block_count; ++layer) model.layers.push_back({.kind = 1});
  model.layers.push_back({.kind = 2});
  return model;
}

const TrainerSplit& split_of(const std::vector<TrainerSplit>& splits, const std::string& trainer,
                             const std::string& rule) {
  return *std::ranges::find_if(splits, [&](const TrainerSplit& split) {
    return split.trainer == trainer && split.rule.starts_with(rule);
  });
}

}  // namespace

// rank 0: F (1 ms) first, and B (2 ms) last; rank 1: 4 times F (4 ms) and B (8 ms) without a wait.
TEST_CASE("explain: the heavy stage binds, and the way through the step is what it computes") {
  const Profile profile = heavy_middle();
  const Plan plan = plan_of(
      profile, {.stage_count = 3, .global_batch = 4, .micro_batch = 1, .schedules = {"1f1b"}});
  const Explanation explanation = explained(profile, plan);
  CHECK(explanation.step.count() == Approx(0.051));
  CHECK(explanation.path.rank == 1);
  CHECK(explanation.path.work.count() == Approx(0.048));
  CHECK(explanation.path.fill.count() == Approx(0.001));
  CHECK(explanation.path.drain.count() == Approx(0.002));
  CHECK(explanation.path.between.count() == Approx(0.0));
  CHECK(explanation.path.total().count() == Approx(0.051));
  // Mean of 12, 48 and 12 ms; with equal ranks (4 + 2) slots of 6 ms.
  CHECK(explanation.parts.work.count() == Approx(0.024));
  CHECK(explanation.reliefs.front().obstacle == Obstacle::kCompute);
  CHECK(explanation.reliefs.front().step.count() == Approx(0.036));
  CHECK(explanation.parts.imbalance.count() == Approx(0.015));
  CHECK(step_without(explanation, Obstacle::kPipeline).count() == Approx(0.051 - 0.012));
  CHECK(step_without(explanation, Obstacle::kMemory) == explanation.step);
}

// Two equal stages, one micro-batch: 1 + 5 + 1 ms there, 2 + 5 + 2 ms back.
TEST_CASE("explain: slow transfers bind where they are most of the step") {
  const SyntheticLayer layer{.output_bytes = 0, .optimizer_s = 0.0};
  const Profile profile = synthetic_profile({layer, layer}, {.device_count = 2, .latency_s = 5e-3});
  const Plan plan = plan_of(
      profile, {.stage_count = 2, .global_batch = 1, .micro_batch = 1, .schedules = {"1f1b"}});
  const Explanation explanation = explained(profile, plan);
  CHECK(explanation.step.count() == Approx(0.016));
  CHECK(explanation.path.transfer.count() == Approx(0.010));
  CHECK(explanation.reliefs.front().obstacle == Obstacle::kTransfer);
  CHECK(explanation.reliefs.front().step.count() == Approx(0.006));
}

TEST_CASE("explain: breakdown and critical path add up to the step for every schedule") {
  std::mt19937 random(7);
  for (const std::string schedule :
       {"1f1b", "gpipe", "naive", "zb-h1", "interleaved-1f1b", "looped-bfs", "zb-v"}) {
    CAPTURE(schedule);
    const Profile profile = synthetic_profile(
        random_layers(random, 9),
        {.device_count = 3, .call_overhead_s = 1e-4, .step_overhead_s = 1e-3, .tied_ends = true});
    const Plan plan = plan_of(
        profile, {.stage_count = 3, .global_batch = 12, .micro_batch = 2, .schedules = {schedule}});
    const Explanation explanation = explained(profile, plan);
    CHECK(explanation.step.count() == Approx(plan.predicted.step.count()));
    CHECK(explanation.parts.total().count() == Approx(explanation.step.count()));
    CHECK(explanation.path.total().count() == Approx(explanation.step.count()));
    for (const Loss& loss : explanation.losses) {
      REQUIRE(loss.parts.has_value());
      CHECK(loss.parts->total().count() == Approx(loss.runner_up.step.count()));
    }
  }
}

TEST_CASE("explain: moving a boundary costs what that cut costs") {
  std::mt19937 random(3);
  const Profile profile = synthetic_profile(random_layers(random, 8), {.device_count = 3});
  const PartitionOptions options{
      .stage_count = 3, .global_batch = 8, .micro_batch = 1, .schedules = {"1f1b"}};
  const Plan plan = plan_of(profile, options);
  const Explanation explanation = explained(profile, plan);
  REQUIRE(explanation.moves.size() == 2);
  for (const BoundaryMoves& move : explanation.moves) {
    CHECK(move.layer == plan.stages[static_cast<std::size_t>(move.stage)].first_layer);
    for (const int by : {-1, 1}) {
      const std::optional<MovedBoundary>& moved = by < 0 ? move.earlier : move.later;
      if (!moved) continue;
      PartitionOptions pinned = options;
      for (const PlanStage& stage : plan.stages) pinned.layer_counts.push_back(stage.layer_count);
      pinned.layer_counts[static_cast<std::size_t>(move.stage) - 1] += by;
      pinned.layer_counts[static_cast<std::size_t>(move.stage)] -= by;
      CHECK(moved->step.count() == Approx(plan_of(profile, pinned).predicted.step.count()));
      CHECK(moved->step >= explanation.step);
    }
  }
}

TEST_CASE("explain: changes are planned again") {
  std::mt19937 random(5);
  const Profile profile = synthetic_profile(random_layers(random, 8), {.device_count = 3});
  const PartitionOptions options{.global_batch = 8, .schedules = {"1f1b"}};
  const Plan plan = plan_of(profile, options);
  const Explanation explanation = explained(profile, plan);
  PartitionOptions doubled = options;
  doubled.global_batch = 16;
  bool found = false;
  for (const WhatIf& what_if : explanation.what_ifs) {
    CAPTURE(what_if.change);
    REQUIRE(what_if.plan.has_value());
    if (what_if.change == "1 GiB more on every device") CHECK(what_if.same_plan);
    if (what_if.change == "one more device" || what_if.change == "links twice as fast") {
      CHECK(what_if.plan->predicted.step <= plan.predicted.step);
    }
    if (what_if.change != "a batch of 16") continue;
    found = true;
    CHECK(what_if.plan->predicted.step == plan_of(profile, doubled).predicted.step);
  }
  CHECK(found);
}

TEST_CASE("default splits: what each trainer does where it is told nothing") {
  const std::vector<TrainerSplit> splits = default_splits(model_of(1, 8), 4);
  CHECK(split_of(splits, "Megatron-LM", "").cut == Cut{0, 3, 5, 7, 10});
  CHECK(split_of(splits, "DeepSpeed", "uniform").cut == Cut{0, 3, 6, 8, 10});
  CHECK(split_of(splits, "torchtitan", "").cut == Cut{0, 3, 6, 8, 10});
  // Two layers of embedding weigh as one block in torchtitan.
  CHECK(split_of(default_splits(model_of(2, 8), 4), "torchtitan", "").cut == Cut{0, 4, 7, 9, 11});
}

TEST_CASE("default splits: a trainer that refuses says why") {
  const std::vector<TrainerSplit> splits = default_splits(model_of(1, 8), 3);
  const TrainerSplit& megatron = split_of(splits, "Megatron-LM", "");
  CHECK(megatron.cut.empty());
  CHECK(megatron.refusal == "8 blocks do not divide into 3 stages");
}

TEST_CASE("default splits: least spread balances sums, of equal cuts the last part is shortest") {
  CHECK(least_spread({1, 1, 1, 5}, 2) == Cut{0, 3, 4});
  CHECK(least_spread({4, 1, 1, 4}, 2) == Cut{0, 2, 4});
  CHECK(least_spread({1, 0, 1}, 2) == Cut{0, 2, 3});
  CHECK(least_spread({7, 2, 2}, 1) == Cut{0, 3});
  CHECK(least_spread({7, 2, 2}, 3) == Cut{0, 1, 2, 3});
}

}  // namespace ppplan::planner
