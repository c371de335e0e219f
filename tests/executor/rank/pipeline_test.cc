#include "planner/schedule/checker.h"
#include "planner/schedule/generators.h"
#include "tests/executor/rank/pipeline_harness.h"
#include "tests/support/tiny_models.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

namespace ppplan::tests {

namespace {

constexpr double kTolerance = 2e-5;  // float32 sums in another order

std::vector<int> sizes_of(int batch, int count) {
  std::vector<int> sizes;
  for (int micro_batch = 0; micro_batch < count; ++micro_batch) {
    sizes.push_back(batch / count + (micro_batch < batch % count ? 1 : 0));
  }
  return sizes;
}

}  // namespace

TEST_CASE("layers: every kind's loss and gradients equal LibTorch's autograd") {
  for (const auto& [name, text] : tiny_configs()) {
    CAPTURE(name);
    const Model model = tiny_model(name);
    planner::Schedule alone{"one",
                            1,
                            {0},
                            {{{planner::ActionKind::kForward, false, 0, 0},
                              {planner::ActionKind::kBackward, false, 0, 0}}}};
    const PipelineResult own = run_pipeline(model, alone, {3});
    const executor::ReferenceResult reference = run_single(model, {3});
    CHECK(own.loss == doctest::Approx(reference.loss).epsilon(1e-6));
    CHECK(worst_error(own.gradients, reference.gradients) < kTolerance);
  }
}

TEST_CASE("layers: a split backward leaves the same bits as a full one") {
  using planner::ActionKind;
  for (const auto& [name, text] : tiny_configs()) {
    CAPTURE(name);
    const Model model = tiny_model(name);
    planner::Schedule full{
        "full",
        1,
        {0},
        {{{ActionKind::kForward, false, 0, 0}, {ActionKind::kBackward, false, 0, 0}}}};
    planner::Schedule split{"split",
                            1,
                            {0},
                            {{{ActionKind::kForward, false, 0, 0},
                              {ActionKind::kBackwardInput, false, 0, 0},
                              {ActionKind::kBackwardWeight, false, 0, 0}}}};
    const PipelineResult one = run_pipeline(model, full, {2});
    const PipelineResult two = run_pipeline(model, split, {2});
    for (const auto& [tensor, gradient] : one.gradients) {
      CAPTURE(tensor);
      CHECK(at::equal(gradient, two.gradients.at(tensor)));
    }
  }
}

TEST_CASE("pipeline: 4 stages of 1F1B give the single process's gradients for any micro-batches") {
  for (const char* name : {"llama-tied", "gpt2"}) {
    const Model model = tiny_model(name);
    for (const int count : {1, 2, 3, 8}) {
      CAPTURE(name);
      CAPTURE(count);
      const std::vector<int> sizes = sizes_of(8, count);  // 3 micro-batches: 3, 3, 2
      const auto made =
          planner::make_schedule("1f1b", {.rank_count = 4, .micro_batch_count = count});
      REQUIRE(std::holds_alternative<planner::Schedule>(made));
      const PipelineResult own = run_pipeline(model, std::get<planner::Schedule>(made), sizes);
      const executor::ReferenceResult reference = run_single(model, sizes);
      CHECK(own.loss == doctest::Approx(reference.loss).epsilon(1e-6));
      CHECK(worst_error(own.gradients, reference.gradients) < kTolerance);
      CHECK(own.shared_equal);
    }
  }
}

TEST_CASE("pipeline: every schedule gives the single process's gradients") {
  const Model model = tiny_model("llama-tied");
  int runs = 0;
  for (const std::string& name : planner::schedule_names()) {
    for (const int ranks : {1, 2, 3}) {
      for (const int virtual_count : {1, 2}) {
        for (const int count : {1, 4, 6}) {
          const auto made = planner::make_schedule(
              name,
              {.rank_count = ranks, .micro_batch_count = count, .virtual_count = virtual_count});
          if (std::holds_alternative<planner::Unschedulable>(made)) continue;
          const auto& schedule = std::get<planner::Schedule>(made);
          if (schedule.stage_count() > 6) continue;  // the model has six layers
          CAPTURE(name);
          CAPTURE(ranks);
          CAPTURE(virtual_count);
          CAPTURE(count);
          const std::vector<int> sizes = sizes_of(7, count);
          const PipelineResult own = run_pipeline(model, schedule, sizes);
          const executor::ReferenceResult reference = run_single(model, sizes);
          CHECK(worst_error(own.gradients, reference.gradients) < kTolerance);
          CHECK(own.shared_equal);
          ++runs;
        }
      }
    }
  }
  CHECK(runs >= 12);
}

TEST_CASE("weights: the values of a tensor depend on seed and name, not on the cut") {
  const Model model = tiny_model("llama-tied");
  executor::ParameterStore whole(kSeed, at::kCPU);
  executor::make_all_parameters(model, whole);
  executor::ParameterStore part(kSeed, at::kCPU);
  const executor::StageModule stage(model, 2, 2, part,
                                    std::make_shared<executor::RopeTables>(at::kCPU));
  CHECK(part.all().size() > 4);
  for (const auto& [name, tensor] : part.all()) {
    CAPTURE(name);
    CHECK(at::equal(tensor->value, whole.all().at(name)->value));
  }
  CHECK(executor::parameter_seed(1, "a") != executor::parameter_seed(2, "a"));
  CHECK(executor::parameter_seed(1, "a") != executor::parameter_seed(1, "b"));
}

}  // namespace ppplan::tests
