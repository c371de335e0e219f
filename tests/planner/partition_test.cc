#include "planner/partition.h"

#include "planner/schedule/planned.h"
#include "tests/support/brute_force.h"
#include "tests/support/errors.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace ppplan::planner {
namespace {

using testing::brute_force;
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
                                .micro_batches = {1, 2, 4},
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
    const Profile profile = synthetic_profile(
        random_layers(random, layer_count),
        {.device_count = stage_count, .micro_batches = {1, 2, 4}, .tied_ends = true});
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

TEST_CASE("partition: schedules that split the backward are cut as exactly") {
  std::mt19937 random(6);
  for (int instance = 0; instance < 40; ++instance) {
    CAPTURE(instance);
    const Profile profile = synthetic_profile(random_layers(random, 6), {.device_count = 3});
    const PartitionOptions options{.stage_count = 3,
                                   .global_batch = 1 + static_cast<int>(random() % 8),
                                   .schedules = {"zb-h1"}};
    const Planned planned = plan_of(profile, options);
    CHECK(planned.search.proven);
    CHECK(planned.plan.predicted.step.count() ==
          doctest::Approx(brute_force(profile, options).count()).epsilon(1e-9));
  }
}

TEST_CASE("partition: without a number of stages the best number of all is taken") {
  std::mt19937 random(8);
  for (int instance = 0; instance < 20; ++instance) {
    const Profile profile = synthetic_profile(
        random_layers(random, 5), {.device_count = 4, .latency_s = 2e-3, .busy_slowdown = 1.5});
    const PartitionOptions options{.global_batch = 6};
    const Planned planned = plan_of(profile, options);
    CHECK(planned.plan.predicted.step.count() ==
          doctest::Approx(brute_force(profile, options).count()).epsilon(1e-9));
    const Verdict& verdict =
        planned.plan.verdict;  // a gain below 5 % is within what predictions miss
    CHECK(verdict.worth_it == (planned.plan.stages.size() > 1 && verdict.speedup >= 1.05));
  }
}

TEST_CASE("partition: the same question has the same answer") {
  std::mt19937 random(9);
  const Profile profile = synthetic_profile(random_layers(random, 40), {.device_count = 6});
  const PartitionOptions options{.stage_count = 6, .global_batch = 24};
  CHECK(plan_of(profile, options).plan == plan_of(profile, options).plan);
}

TEST_CASE("partition: 8 samples in threes are planned as 3, 3, 2") {
  const Profile profile = synthetic_profile(transformer_layers(6));
  const Planned planned = plan_of(profile, {.stage_count = 2, .global_batch = 8, .micro_batch = 3});
  CHECK(planned.plan.micro_batches == std::vector<int>{3, 3, 2});
  CHECK(planned.timeline.ranks.front().size() == 6);
}

TEST_CASE("partition: fewer micro-batches than stages are planned, the bubble told") {
  const Profile profile =
      synthetic_profile(std::vector<SyntheticLayer>(4), {.latency_s = 0.0, .bytes_per_s = 1e15});
  const Planned planned = plan_of(
      profile, {.stage_count = 4, .global_batch = 2, .micro_batch = 1, .schedules = {"1f1b"}});
  CHECK(planned.plan.predicted.bubble == doctest::Approx(0.6));
}

TEST_CASE("partition: a tight limit moves the cut towards the rank that holds less") {
  std::vector<SyntheticLayer> layers(8);
  for (SyntheticLayer& layer : layers) layer.parameter_bytes = 40;
  const Profile profile = synthetic_profile(layers, {.latency_s = 0.0});
  const PartitionOptions loose{
      .stage_count = 2, .global_batch = 8, .micro_batch = 1, .schedules = {"1f1b"}};
  const Plan free = plan_of(profile, loose).plan;
  PartitionOptions tight = loose;
  tight.memory = free.ranks[0].memory.total() - Bytes{1};
  const Plan bound = plan_of(profile, tight).plan;
  CHECK(bound.stages[0].layer_count < free.stages[0].layer_count);
  CHECK(bound.predicted.step > free.predicted.step);
}

TEST_CASE("partition: the plan's ranks, stages and figures belong together") {
  const Profile profile =
      synthetic_profile(transformer_layers(10), {.device_count = 3, .tied_ends = true});
  const Planned planned = plan_of(profile, {.stage_count = 3, .global_batch = 12});
  const Plan& plan = planned.plan;
  CHECK(planned_schedule(plan) == planned.schedule);
  CHECK(plan.ranks.front().reduction > Seconds(0));
  CHECK(plan.ranks[1].reduction == Seconds(0));
  CHECK(plan.predicted.tokens_per_s == doctest::Approx(12 * 128 / plan.predicted.step.count()));
  CHECK(plan.lower_bound <= plan.predicted.step);
  CHECK(plan.runners_up.size() <= 8);
  for (const RunnerUp& loser : plan.runners_up) CHECK(loser.step >= plan.predicted.step);
}

TEST_CASE("partition: none fits: limit, rank, bytes, and changes that do make it fit") {
  const Profile profile = synthetic_profile(transformer_layers(10));
  const PartitionOptions asked{.stage_count = 2,
                               .global_batch = 8,
                               .micro_batch = 8,
                               .memory = Bytes{280'000},
                               .schedules = {"1f1b"}};
  const auto answer = partition(profile, asked);
  const auto& none = std::get<Infeasible>(answer);
  CHECK(none.needed > none.allowed);
  CHECK(none.allowed == *asked.memory);
  CHECK(none.reason.find("rank") != std::string::npos);
  const auto remedy = [&](const std::string& flag) {
    const auto found = std::ranges::find_if(
        none.remedies, [&](const std::string& text) { return text.starts_with(flag + " "); });
    REQUIRE(found != none.remedies.end());
    return std::stoi(found->substr(flag.size() + 1));
  };
  PartitionOptions changed = asked;
  changed.micro_batch = remedy("--micro-batch");
  CHECK(std::holds_alternative<Planned>(partition(profile, changed)));
  ++*changed.micro_batch;
  CHECK(std::holds_alternative<Infeasible>(partition(profile, changed)));
  changed = asked;
  changed.stage_count = remedy("--stages");
  CHECK(std::holds_alternative<Planned>(partition(profile, changed)));
  changed = asked;
  changed.memory = Bytes{std::int64_t{remedy("--memory")} << 20};
  CHECK(std::holds_alternative<Planned>(partition(profile, changed)));
}

TEST_CASE("partition: the plan is compared with the best that its devices do without a pipeline") {
  const Profile profile = synthetic_profile(transformer_layers(10), {.device_count = 4});
  const Plan plan = plan_of(profile, {.stage_count = 4, .global_batch = 16}).plan;
  Seconds best{1e9};
  for (const Rival& rival : plan.rivals) {
    CHECK(rival.device_count <= 4);
    if (rival.layout.find("pipeline") == std::string::npos && rival.fits) {
      best = std::min(best, rival.step);
    }
  }
  CHECK(plan.verdict.speedup == doctest::Approx(best / plan.predicted.step));
  std::vector<std::string> ways;
  for (const Rival& rival : plan.rivals) ways.push_back(rival.way);
  CHECK(ways == std::vector<std::string>{
                    "one device", "data parallel", "data parallel, optimizer sharded",
                    "fully sharded data parallel", "pipeline", "pipeline and data parallel"});
}

TEST_CASE("partition: data parallelism costs a ring of the gradients, once a step") {
  // One layer kind, no pipeline: 4 devices take 2 samples each, then 2 * 3 pieces of a quarter.
  const SyntheticLayer layer{.forward_s = 0.01, .backward_s = 0.02, .parameter_bytes = 4'000'000};
  const Profile profile = synthetic_profile(
      {layer, layer, layer, layer},
      {.device_count = 4, .micro_batches = {1}, .latency_s = 1e-3, .bytes_per_s = 1e8});
  const Plan plan = plan_of(profile, {.stage_count = 4, .global_batch = 8}).plan;
  const auto rival = [&](const std::string& way) {
    return std::ranges::find(plan.rivals, way, &Rival::way)->step.count();
  };
  const double work = 2 * 4 * 0.03;
  const double ring = 6 * (1e-3 + 16e6 / 4 / 1e8);
  CHECK(rival("data parallel") == doctest::Approx(work + ring + 4 * 1e-4));
  CHECK(rival("data parallel, optimizer sharded") == doctest::Approx(work + ring + 4 * 1e-4 / 4));
  // Fully sharded: a layer's gather hides behind its forward, gather and scatter do not behind its
  // backward.
  const double piece = 3 * (1e-3 + 4e6 / 4 / 1e8);
  const double step = 2 * 4 * (std::max(0.01, piece) + std::max(0.02, 2 * piece)) + 4 * 1e-4 / 4;
  CHECK(rival("fully sharded data parallel") == doctest::Approx(step));
}

TEST_CASE("partition: a model that fits no other way makes a pipeline worth it") {
  SyntheticLayer heavy{.saved_bytes = 10, .output_bytes = 1, .parameter_bytes = 1 << 20};
  const Profile profile =
      synthetic_profile(std::vector<SyntheticLayer>(4, heavy), {.device_count = 4});
  // A rank of the pipeline holds one layer; fully sharded devices hold a quarter of all four and,
  // while they compute, two layers' parameters and one's gradients.
  const Plan plan =
      plan_of(profile, {.stage_count = 4, .global_batch = 4, .memory = Bytes{5 << 20}}).plan;
  CHECK(plan.verdict.worth_it);
  CHECK(plan.verdict.speedup == 0.0);
  CHECK(plan.verdict.sentence.find("cannot hold") != std::string::npos);
}

TEST_CASE("partition: what contradicts itself is refused with the flag's name") {
  const Profile profile = synthetic_profile(transformer_layers(4), {.micro_batches = {2, 4}});
  const auto refusal = [&](const PartitionOptions& options) {
    return test::message_of([&] { (void)partition(profile, options); });
  };
  CHECK(refusal({.stage_count = 7, .global_batch = 8})
            .starts_with("--stages 7: the model has only 6"));
  CHECK(refusal({.stage_count = 0, .global_batch = 8}).starts_with("--stages 0"));
  CHECK(refusal({.stage_count = 2, .global_batch = 0}).starts_with("--global-batch 0"));
  CHECK(refusal({.stage_count = 2, .global_batch = 8, .micro_batch = 9})
            .starts_with("--micro-batch 9 is larger"));
  CHECK(refusal({.stage_count = 2, .global_batch = 8, .micro_batch = 8}).find("2 to 4") !=
        std::string::npos);
  CHECK(refusal({.stage_count = 2, .global_batch = 1}).find("smaller than every measured") !=
        std::string::npos);
  CHECK(refusal({.stage_count = 2, .global_batch = 8, .sequence = 64}).starts_with("sequence 64"));
  CHECK(refusal({.stage_count = 2, .global_batch = 8, .memory = Bytes{0}}).starts_with("--memory"));
  CHECK(refusal({.stage_count = 2, .global_batch = 8, .schedules = {"1f2b"}}).find("1f2b") !=
        std::string::npos);
  CHECK(refusal({.stage_count = 2, .global_batch = std::int64_t{1} << 40}).find("too long") !=
        std::string::npos);
  Profile unlinked = profile;
  unlinked.links.clear();
  CHECK(test::message_of([&] {
          (void)partition(unlinked, {.stage_count = 2, .global_batch = 8});
        }).find("no link") != std::string::npos);
}

TEST_CASE("partition: the devices asked for are used in their order, or refused with the reason") {
  Profile profile = synthetic_profile(transformer_layers(6), {.device_count = 3});
  for (std::size_t device = 0; device < 3; ++device) {
    profile.devices[device].name = "device" + std::to_string(device);
  }
  profile.devices[2].speed = 0.5;
  const Plan plan = plan_of(profile, {.global_batch = 8, .device_order = {2, 0}}).plan;
  REQUIRE(plan.ranks.size() == 2);
  CHECK(plan.ranks[0].device == "device2");
  CHECK(plan.ranks[1].device == "device0");
  const Plan swapped = plan_of(profile, {.global_batch = 8, .device_order = {0, 2}}).plan;
  CHECK(plan.stages[0].layer_count < swapped.stages[0].layer_count);  // the slow one does less
  const auto refusal = [&](const PartitionOptions& options) {
    return test::message_of([&] { (void)partition(profile, options); });
  };
  CHECK(refusal({.global_batch = 8, .device_order = {0, 3}}) ==
        "--device-order 0,3: expected devices from 0 to 2, found 3");
  CHECK(refusal({.global_batch = 8, .device_order = {1, 1}}) ==
        "--device-order 1,1: device 1 stands there twice");
  CHECK(refusal({.stage_count = 3, .global_batch = 8, .device_order = {1, 0}}) ==
        "--device-order 1,0 names 2 devices, --stages 3 asks for 3");
  CHECK(refusal({.global_batch = 8, .device_count = 3, .device_order = {1, 0}}) ==
        "--device-order goes with one pipeline");
}

TEST_CASE("partition: one rank has one stage, unless every schedule asked for has several") {
  const Profile profile = synthetic_profile(transformer_layers(6), {.device_count = 2});
  const PartitionOptions options{
      .stage_count = 1, .global_batch = 4, .schedules = {"1f1b", "interleaved-1f1b"}};
  for (const RunnerUp& loser : plan_of(profile, options).plan.runners_up) {
    CHECK(loser.layer_counts.size() == 1);
  }
  const Plan several = plan_of(profile, {.stage_count = 1,
                                         .global_batch = 4,
                                         .schedules = {"interleaved-1f1b", "looped-bfs"}})
                           .plan;
  CHECK(several.stages.size() == 2);
}

TEST_CASE("partition: a verdict asks nothing of sizes that were not measured") {
  // Half the batch would leave a last micro-batch of 1 beside those of 2; links cost nothing, so
  // that none of theirs turns the answer first.
  const Profile profile = synthetic_profile(
      transformer_layers(4),
      {.device_count = 2, .micro_batches = {2}, .latency_s = 0.0, .bytes_per_s = 1e15});
  for (const int batch : {6, 10, 14}) {
    CHECK(!plan_of(profile, {.stage_count = 2, .global_batch = batch, .micro_batch = 2})
               .plan.verdict.sentence.empty());
  }
}

}  // namespace ppplan::planner
