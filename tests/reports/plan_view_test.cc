#include "reports/render/plan_view.h"

#include "planner/partition.h"
#include "reports/render/layers_in_words.h"
#include "reports/render/plan_in_words.h"
#include "tests/support/golden.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <variant>

namespace ppplan::render {
namespace {

Profile small_profile() {
  std::vector<testing::SyntheticLayer> layers = testing::transformer_layers(12);
  for (testing::SyntheticLayer& layer : layers) {
    layer.saved_bytes *= 4000;
    layer.output_bytes *= 4000;
    layer.parameter_bytes *= 4000;
  }
  Profile profile = testing::synthetic_profile(
      layers, {.device_count = 2, .bytes_per_s = 1e9, .call_overhead_s = 5e-5, .tied_ends = true});
  profile.model.kinds.front().name = "embedding";
  profile.model.kinds.back().name = "head";
  return profile;
}

std::string shown(const Profile& profile, const planner::PartitionOptions& options) {
  const auto answer = planner::partition(profile, options);
  const auto& planned = std::get<planner::Planned>(answer);
  return plan_text({.plan = &planned.plan,
                    .schedule = &planned.schedule,
                    .timeline = &planned.timeline,
                    .allowed = planned.allowed,
                    .search = "found by looking"});
}

}  // namespace

TEST_CASE("plan view: a small plan reads as its golden text") {
  tests::check_golden(
      shown(small_profile(),
            {.stage_count = 2, .global_batch = 8, .memory = Bytes{std::int64_t{3} << 30}}),
      "plan_view/two_stages.txt");
}

TEST_CASE("plan view: no line is wider than 100 columns") {
  const Profile profile =
      testing::synthetic_profile(testing::transformer_layers(98), {.device_count = 40});
  std::istringstream lines(shown(profile, {.stage_count = 40, .global_batch = 32}));
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(display_width(line) <= 100);
  }
}

namespace {

/// Nodes of four devices, one pipeline or several of them.
Profile cluster_profile(int block_count, int node_count) {
  std::vector<testing::SyntheticLayer> layers = testing::transformer_layers(block_count);
  Profile profile =
      testing::synthetic_profile(layers, {.device_count = 4, .micro_batches = {1, 2}});
  profile.cluster = Cluster{.node_count = node_count, .devices_per_node = 4};
  return profile;
}

planner::Planned planned(const Profile& profile, const planner::PartitionOptions& options) {
  return std::get<planner::Planned>(planner::partition(profile, options));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("plan view: a layout is said in words, with the devices it uses") {
  const std::string text =
      shown(cluster_profile(14, 2),
            {.stage_count = 4, .global_batch = 16, .schedules = {"1f1b"}, .data_parallel = 2});
  CHECK(holds(text, "4 stages × 2 pipelines"));
  CHECK(holds(text, "8 of 8 devices"));
  CHECK(holds(text, "in each pipeline"));
  CHECK(holds(text, "side by side in nodes"));
  CHECK(holds(text, "export only, for a trainer: 'ppplan run' does not do several pipelines"));
  CHECK(holds(text, "t × p × d: devices that share a layer"));
}

TEST_CASE("plan view: stages alike share a row, all of 128 are accounted for within 100 columns") {
  for (const int stage_count : {64, 128}) {
    CAPTURE(stage_count);
    const std::string text =
        shown(cluster_profile(2 * stage_count, 32), {.stage_count = stage_count,
                                                     .global_batch = 32,
                                                     .schedules = {"1f1b"},
                                                     .data_parallel = 1});
    CHECK(holds(text, " each "));
    CHECK(holds(text, fmt::format("of all {} ranks the fullest", stage_count)));
    const std::size_t split = text.find("Split");
    const std::size_t memory = text.find("forward and backward: of one full");
    CHECK(std::count(text.begin() + static_cast<std::ptrdiff_t>(split),
                     text.begin() + static_cast<std::ptrdiff_t>(memory), '\n') <= 36);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(display_width(line) <= 100);
    }
  }
}

TEST_CASE("plan view: what stages recompute stands in a column of its own") {
  Plan plan = planned(small_profile(), {.stage_count = 2, .global_batch = 8}).plan;
  PlanStage& stage = plan.stages.front();
  stage.recompute = {{2, Recompute::kFull}, {stage.layer_count - 2, Recompute::kNone}};
  CHECK(recompute_in_words(stage) == fmt::format("full 2 of {}", stage.layer_count));
  stage.recompute = {{2, Recompute::kFull}, {stage.layer_count - 2, Recompute::kSelective}};
  CHECK(recompute_in_words(stage) ==
        fmt::format("full 2, selective {} of {}", stage.layer_count - 2, stage.layer_count));
  stage.recompute = {{stage.layer_count, Recompute::kNone}};
  CHECK(recompute_in_words(stage).empty());
}

TEST_CASE("plan in words: layouts, counts, pieces") {
  CHECK(layout_in_words({}, 4, 4) == "4 stages");
  CHECK(layout_in_words({}, 4, 8) == "8 stages on 4 ranks");
  const Layout layout{
      .sharding = {.tensor = 4}, .data_parallel = 4, .data_sharding = DataSharding::kOptimizer};
  CHECK(layout_in_words(layout, 64, 64) ==
        "64 stages × 4 pipelines × 4 devices a layer (tensor parallel), optimizer sharded");
  CHECK(layout_in_figures(layout, 64) == "4 × 64 × 4");
  CHECK(counts_in_words({3, 4}) == "3 4");
  CHECK(counts_in_words({2, 2, 2}) == "2 each");
  CHECK(counts_in_words({3, 2, 2, 2, 2, 2, 2, 2, 1}) == "3, 7 of 2, 1");
  CHECK(chunk_in_words(0).empty());
  CHECK(chunk_in_words(2048) == "in pieces of 2,048 tokens");
  CHECK(grouped(1'234'567) == "1,234,567");
  CHECK(grouped(999) == "999");
  CHECK(grouped(-1000) == "-1,000");
}

TEST_CASE("layers in words: runs of blocks, single layers, nothing") {
  const Model model = small_profile().model;
  CHECK(layers_in_words(model, 0, 14) == "embedding, blocks 0–11, head");
  CHECK(layers_in_words(model, 0, 1) == "embedding");
  CHECK(layers_in_words(model, 3, 1) == "block 2");
  CHECK(layers_in_words(model, 12, 2) == "block 11, head");
  CHECK(layers_in_words(model, 5, 0) == "none: passes tensors on");
}

TEST_CASE("parameter count: a tensor shared within a run counts once") {
  const Model model = small_profile().model;
  const std::int64_t embedding = parameter_count(model, 0, 1);
  CHECK(parameter_count(model, 13, 1) == embedding);
  CHECK(parameter_count(model, 0, 14) == parameter_count(model, 0, 13));
}

}  // namespace ppplan::render
