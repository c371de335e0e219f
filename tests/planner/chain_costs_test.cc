#include "planner/chain_costs.h"

#include "planner/candidate.h"
#include "planner/question.h"
#include "planner/schedule/generators.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <variant>

namespace ppplan::planner {
namespace {

Profile varied_profile(bool tied_ends) {
  std::mt19937 random(3);
  return testing::synthetic_profile(testing::random_layers(random, 6), {.tied_ends = tied_ends});
}

}  // namespace

TEST_CASE("batch: 8 in threes is 3, 3, 2") {
  const BatchSplit split = split_batch(8, 3);
  CHECK(split.sizes() == std::vector<int>{3, 3, 2});
  CHECK(split.class_of_micro_batch == std::vector<int>{0, 0, 1});
  CHECK(split_batch(8, 4).class_count() == 1);
}

TEST_CASE("chain costs: a stage's peaks are the highest moment, layer by layer") {
  const Profile profile = varied_profile(false);
  const CostTable table(profile, 128, 1);
  const ChainCosts chain(profile, table, split_batch(5, 2));
  for (int first = 0; first < 6; ++first) {
    for (int last = first + 1; last <= 6; ++last) {
      Bytes level;
      Bytes forward_peak;
      for (int layer = first; layer < last; ++layer) {
        const Bytes input = layer == 0 ? Bytes{0} : table.layer(layer - 1, 2).output;
        forward_peak = std::max(forward_peak, level + input + table.layer(layer, 2).forward_peak);
        level += table.layer(layer, 2).saved;
      }
      const Bytes saved = level;
      Bytes backward_peak;
      for (int layer = last - 1; layer >= first; --layer) {
        // In place of the stage's own incoming gradient, which the schedule counts.
        const Bytes incoming =
            layer == last - 1 ? Bytes{0} : table.layer(layer, 2).output - chain.boundary(last, 0);
        backward_peak =
            std::max(backward_peak, level - saved + incoming + table.layer(layer, 2).backward_peak);
        level -= table.layer(layer, 2).saved;
      }
      const StageCost stage = chain.stage(first, last, 0);
      CHECK(stage.saved == saved);
      CHECK(stage.forward_peak == forward_peak);
      CHECK(stage.backward_peak == backward_peak);
    }
  }
}

TEST_CASE("chain costs: a shared tensor is stored once on a rank, and reduced between two") {
  const Profile profile = varied_profile(true);
  const CostTable table(profile, 128, 1);
  const ChainCosts chain(profile, table, split_batch(4, 1));
  const OptimizerCost& tied = table.optimizer(0);
  Bytes all;
  for (int layer = 0; layer < 6; ++layer) all += chain.static_memory(layer, layer + 1).parameters;
  CHECK(chain.static_memory(0, 6).parameters == all - tied.parameters);
  CHECK(chain.static_memory(0, 3).parameters + chain.static_memory(3, 6).parameters == all);
  CHECK(chain.reduction({0, 6}, {0}) == std::vector<Seconds>{Seconds(0)});
  const Seconds once = Network(profile).hop(LinkScope::kInside, tied.gradients);
  CHECK(chain.reduction({0, 2, 4, 6}, {0, 1, 2}) == std::vector<Seconds>{once, Seconds(0), once});
}

TEST_CASE("chain costs: an empty stage computes nothing and passes its input on") {
  const Profile profile = varied_profile(false);
  const ChainCosts chain(profile, CostTable(profile, 128, 1), split_batch(4, 1));
  const StageCost stage = chain.stage(3, 3, 0);
  CHECK(stage.forward == Seconds(0));
  CHECK(stage.output == chain.boundary(3, 0));
  CHECK(chain.static_memory(3, 3).total() == Bytes{0});
}

TEST_CASE("memory forms: a rank's peak equals the simulated one for every schedule and cut") {
  const Profile profile = varied_profile(true);
  std::mt19937 random(4);
  for (const char* name : {"naive", "gpipe", "1f1b", "zb-h1"}) {
    for (int round = 0; round < 20; ++round) {
      CAPTURE(name);
      Question question =
          ask(profile, {.stage_count = 4, .global_batch = 1 + static_cast<int>(random() % 12)});
      question.schedules = {name};
      for (const Size& size : sizes_of(question)) {
        const Candidate candidate = offer(question, make_basis(question, size)).candidates.front();
        Cut cut{0, 1 + static_cast<int>(random() % 5), 1 + static_cast<int>(random() % 5),
                1 + static_cast<int>(random() % 5), 6};
        std::ranges::sort(cut);
        const Evaluation evaluation = candidate.evaluate(cut);
        for (std::size_t rank = 0; rank < 4; ++rank) {
          CHECK(candidate.memory(static_cast<int>(rank), cut[rank], cut[rank + 1]) ==
                evaluation.memory[rank].total());
        }
      }
    }
  }
}

TEST_CASE("memory forms: with several stages a rank each stage's part is at most the peak") {
  const Profile profile = testing::synthetic_profile(testing::transformer_layers(8));
  for (const char* name : {"interleaved-1f1b", "zb-v", "dualpipe-v"}) {
    const Question question =
        ask(profile, {.stage_count = 3, .global_batch = 7, .schedules = {name}});
    for (const Size& size : sizes_of(question)) {
      const Candidate candidate = offer(question, make_basis(question, size)).candidates.front();
      const Cut cut{0, 2, 3, 5, 6, 9, 10};
      const std::vector<Bytes> needed = candidate.memory(cut);
      const Evaluation evaluation = candidate.evaluate(cut);
      for (int stage = 0; stage < 6; ++stage) {
        const auto at = static_cast<std::size_t>(stage);
        const auto rank = static_cast<std::size_t>(candidate.schedule().rank_of_stage[at]);
        CHECK(needed[rank] == evaluation.memory[rank].total());
        CHECK(candidate.memory(stage, cut[at], cut[at + 1]) <= needed[rank]);
      }
    }
  }
}

TEST_CASE("step bound: never above the simulated step") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const Profile profile = testing::synthetic_profile(
        testing::random_layers(random, 7), {.micro_batches = {1, 3},
                                            .latency_s = 1e-3 * static_cast<double>(random() % 4),
                                            .call_overhead_s = 1e-4,
                                            .tied_ends = round % 2 == 0});
    Question question = ask(profile, {.stage_count = 1 + static_cast<int>(random() % 5),
                                      .global_batch = 1 + static_cast<int>(random() % 20)});
    question.schedules = {"naive", "gpipe", "1f1b", "zb-h1"};
    question.schedules.push_back(schedule_names()[random() % schedule_names().size()]);
    for (const Size& size : sizes_of(question)) {
      for (const Candidate& candidate : offer(question, make_basis(question, size)).candidates) {
        const int stage_count = candidate.stage_count();
        Cut cut{0, 7};
        while (static_cast<int>(cut.size()) <= stage_count)
          cut.push_back(1 + static_cast<int>(random() % 6));
        std::ranges::sort(cut);
        const double step_s = candidate.step(cut).count();
        for (int stage = 0; stage < stage_count; ++stage) {
          const auto at = static_cast<std::size_t>(stage);
          CAPTURE(candidate.schedule().name);
          CHECK(candidate.step_bound(stage, cut[at], cut[at + 1]).count() <= step_s * (1 + 1e-12));
          CHECK(candidate.prefix_bound(cut, stage + 1).count() <= step_s * (1 + 1e-12));
        }
        CHECK(candidate.least_step().count() <= step_s * (1 + 1e-12));
        CHECK(size.bound.count() <= step_s * (1 + 1e-12));
      }
    }
  }
}

}  // namespace ppplan::planner
