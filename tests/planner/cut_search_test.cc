// Cuts under every schedule, judged against every other cut; pins; orders made for the plan.
#include "planner/cut_search.h"

#include "planner/partition.h"
#include "planner/question.h"
#include "planner/schedule/checker.h"
#include "planner/schedule/generators.h"
#include "planner/schedule/planned.h"
#include "tests/support/brute_force.h"
#include "tests/support/errors.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace ppplan::planner {
namespace {

using testing::brute_force;
using testing::random_layers;
using testing::small_instance;
using testing::synthetic_profile;
using testing::SyntheticLayer;
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

Bytes fullest(const Plan& plan) {
  Bytes most;
  for (const PlanRank& rank : plan.ranks) most = std::max(most, rank.memory.total());
  return most;
}

}  // namespace

TEST_CASE("cut search: under each schedule 45 random chains are cut as well as brute force") {
  std::mt19937 random(11);
  int unfit_count = 0;
  for (const std::string& name : schedule_names()) {
    for (int round = 0; round < 45; ++round) {
      CAPTURE(name);
      CAPTURE(round);
      auto [profile, options] = small_instance(random, name, 4);
      if (round % 2 == 1) {  // memory binds: less than the fastest plan needs
        const Plan free = plan_of(profile, options).plan;
        const std::int64_t needed = fullest(free).count;
        options.memory = Bytes{needed * (10 - static_cast<int>(random() % 4)) / 10 - 1};
      }
      const Seconds best = brute_force(profile, options);
      const auto answer = partition(profile, options);
      if (const auto* planned = std::get_if<Planned>(&answer)) {
        CHECK(planned->search.proven);
        CHECK(planned->plan.predicted.step.count() == doctest::Approx(best.count()).epsilon(1e-9));
        CHECK(planned->plan.lower_bound <= planned->plan.predicted.step * (1 + 1e-12));
        CHECK(planned_schedule(planned->plan) == planned->schedule);
      } else {
        CHECK(std::isinf(best.count()));
        ++unfit_count;
      }
    }
  }
  CHECK(unfit_count > 20);
  CHECK(unfit_count < 260);
}

TEST_CASE("cut search: on long chains with several stages a rank memory is kept, the gap told") {
  const Profile profile =
      synthetic_profile(transformer_layers(198), {.device_count = 16, .micro_batches = {1, 2}});
  PartitionOptions options{
      .stage_count = 16, .global_batch = 64, .micro_batch = 1, .schedules = {"interleaved-1f1b"}};
  const Planned free = plan_of(profile, options);
  CHECK(free.plan.stages.size() == 32);
  CHECK(free.search.bound > Seconds(0));
  CHECK(free.search.bound <= free.plan.predicted.step);
  CHECK(free.plan.predicted.step < 1.5 * free.search.bound);
  options.memory = Bytes{free.plan.ranks[0].memory.total().count * 49 / 50};
  const Planned tight = plan_of(profile, options);
  for (const PlanRank& rank : tight.plan.ranks) CHECK(rank.memory.total() <= *options.memory);
}

TEST_CASE("pins: cuts that keep them are as good as brute force over such cuts") {
  std::mt19937 random(12);
  for (const std::string name : {"1f1b", "gpipe", "zb-h1", "zb-v"}) {
    for (int round = 0; round < 20; ++round) {
      CAPTURE(name);
      auto [profile, options] = small_instance(random, name, 4);
      const Plan free = plan_of(profile, options).plan;
      const int stage = static_cast<int>(random() % free.stages.size());
      const auto last = static_cast<int>(profile.model.layers.size()) - 1;
      const int layer = std::clamp(
          free.stages[static_cast<std::size_t>(stage)].first_layer + static_cast<int>(random() % 3),
          stage == 0 ? 0 : 1, stage + 1 == std::ssize(free.stages) ? last : last - 1);
      options.pins = {{layer, layer, stage}};
      const Plan plan = plan_of(profile, options).plan;
      const PlanStage& held = plan.stages[static_cast<std::size_t>(stage)];
      CHECK(held.first_layer <= layer);
      CHECK(held.first_layer + held.layer_count > layer);
      CHECK(plan.constraints.pins == options.pins);
      CHECK(plan.predicted.step.count() ==
            doctest::Approx(brute_force(profile, options).count()).epsilon(1e-9));
    }
  }
}

TEST_CASE("pins: layer counts are the cut, also without a number of stages") {
  const Profile profile = synthetic_profile(transformer_layers(8), {.device_count = 3});
  const Planned planned = plan_of(profile, {.global_batch = 8, .layer_counts = {1, 5, 4}});
  CHECK(layer_counts(planned.plan) == std::vector<int>{1, 5, 4});
  CHECK(planned.search.proven);
  const Plan looped = plan_of(profile, {.global_batch = 8,
                                        .schedules = {"interleaved-1f1b"},
                                        .virtual_count = 2,
                                        .layer_counts = {2, 2, 3, 3}})
                          .plan;
  CHECK(looped.ranks.size() == 2);
  CHECK(layer_counts(looped) == std::vector<int>{2, 2, 3, 3});
}

TEST_CASE("pins: contradictions name both sides") {
  const Profile profile = synthetic_profile(transformer_layers(8), {.device_count = 3});
  const auto refusal = [&](std::vector<LayerPin> pins, std::vector<int> counts = {}) {
    return test::message_of([&] {
      (void)partition(profile, {.stage_count = 3,
                                .global_batch = 8,
                                .pins = std::move(pins),
                                .layer_counts = std::move(counts)});
    });
  };
  CHECK(refusal({{5, 5, 0}, {3, 3, 1}}).starts_with("--pin 5=0 contradicts --pin 3=1"));
  CHECK(refusal({{2, 2, 0}}, {1, 5, 4}).find("contradicts") != std::string::npos);
  CHECK(refusal({{2, 2, 0}}, {1, 5, 4}).find("--layer-counts 1,5,4") != std::string::npos);
  CHECK(refusal({{9, 9, 1}}).find("the last stage") != std::string::npos);
  CHECK(refusal({{10, 10, 1}}).starts_with("--pin 10=1: the model's last layer is 9"));
  CHECK(refusal({{2, 2, 3}}).starts_with("--pin 2=3: the last of 3 stages is 2"));
  CHECK(refusal({{4, 2, 0}}).starts_with("--pin 4-2=0"));
  CHECK(refusal({}, {3, 3, 3}).find("9 layers in all, the model has 10") != std::string::npos);
  CHECK(refusal({}, {5, 5}).find("2 counts for 3 stages") != std::string::npos);
  CHECK(refusal({}, {0, 5, 5}).find("at least one layer") != std::string::npos);
}

TEST_CASE("virtual stages: what a schedule cannot serve is refused with the reason") {
  const Profile profile = synthetic_profile(transformer_layers(4), {.device_count = 4});
  const auto refusal = [&](const PartitionOptions& options) {
    return test::message_of([&] { (void)partition(profile, options); });
  };
  CHECK(refusal({.stage_count = 2, .global_batch = 4, .schedules = {"naive"}, .virtual_count = 2})
            .starts_with("--virtual 2: naive has one stage a rank"));
  CHECK(refusal({.stage_count = 2, .global_batch = 4, .schedules = {"zb-v"}, .virtual_count = 3})
            .starts_with("--virtual 3: zb-v has 2 stages a rank"));
  CHECK(refusal({.stage_count = 4, .global_batch = 4, .schedules = {"zb-v"}})
            .find("need 8 layers, the model has only 6") != std::string::npos);
  CHECK(refusal({.stage_count = 2, .global_batch = 4, .virtual_count = 0})
            .starts_with("--virtual 0"));
  CHECK(refusal({.stage_count = 2, .global_batch = 4, .virtual_count = 1'000'000'000})
            .find("only 6 layers") != std::string::npos);
}

TEST_CASE("virtual stages: a tied embedding and head on one rank are stored once, never reduced") {
  const Profile profile =
      synthetic_profile(transformer_layers(8), {.device_count = 2, .tied_ends = true});
  const PartitionOptions options{.stage_count = 2, .global_batch = 4, .schedules = {"zb-v"}};
  const Plan folded = plan_of(profile, options).plan;
  CHECK(folded.stages.back().rank == 0);
  CHECK(folded.ranks[0].reduction == Seconds(0));
  PartitionOptions straight = options;
  straight.schedules = {"1f1b"};
  CHECK(plan_of(profile, straight).plan.ranks[0].reduction > Seconds(0));
}

TEST_CASE("synthesized: never slower than the named drafts, within memory, and can be run") {
  std::mt19937 random(13);
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    const Profile profile = synthetic_profile(
        random_layers(random, 6), {.device_count = 3, .micro_batches = {1}, .latency_s = 1e-3});
    PartitionOptions options{.stage_count = 3, .global_batch = 5, .schedules = {"1f1b", "zb-h1"}};
    const Plan named = plan_of(profile, options).plan;
    options.memory = fullest(named);
    options.schedules = {std::string(kSynthesized)};
    const Planned made = plan_of(profile, options);
    CHECK(made.plan.schedule == "custom");
    CHECK(made.plan.predicted.step <= named.predicted.step * (1 + 1e-12));
    CHECK_FALSE(check(made.schedule));
    CHECK(planned_schedule(made.plan) == made.schedule);
    for (const PlanRank& rank : made.plan.ranks) CHECK(rank.memory.total() <= *options.memory);
  }
}

}  // namespace ppplan::planner
