#include "reports/render/plan_view.h"

#include "planner/partition.h"
#include "reports/render/layers_in_words.h"
#include "tests/support/golden.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

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
