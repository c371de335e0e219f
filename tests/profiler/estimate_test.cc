#include "profiler/estimate/estimate.h"

#include "profiler/estimate/data_sheets.h"
#include "profiler/models/counts.h"
#include "tests/support/errors.h"
#include "tests/support/estimated_profile.h"
#include "tests/support/tiny_models.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ppplan::profiler {
namespace {

using test::message_of;

EstimateOptions options_for(const std::string& device, std::vector<std::int64_t> sequences) {
  return {.device = find_data_sheet(device), .cluster = {1, 8}, .sequences = std::move(sequences)};
}

const Measurement& row_of(const Profile& profile, const Measurement& like) {
  const auto found = std::find_if(
      profile.measurements.begin(), profile.measurements.end(), [&](const Measurement& row) {
        return row.kind == like.kind && row.micro_batch == like.micro_batch &&
               row.sequence == like.sequence && row.sharding == like.sharding &&
               row.recompute == like.recompute && row.recompute_chunk == like.recompute_chunk;
      });
  REQUIRE(found != profile.measurements.end());
  return *found;
}

TEST_CASE("estimate: the profile of every family is a valid document that comes back unchanged") {
  for (const auto& [name, config] : tests::tiny_configs()) {
    CAPTURE(name);
    EstimateOptions options = options_for("h100-sxm", {32, 64});
    options.tensor_degrees = tensor_degrees(tests::tiny_model(name), 8);
    options.recompute_chunks = {16, 32};
    const Profile profile = estimate(tests::tiny_model(name), options);
    CHECK(read_profile(write_profile(profile), "p") == profile);
    CHECK(profile.origin == Origin::kEstimated);
    CHECK(profile.cluster == Cluster{1, 8});
    CHECK(profile.devices.size() == 8);
  }
}

TEST_CASE("estimate: one device holds the parameters that inspect counts") {
  for (const auto& [name, config] : tests::tiny_configs()) {
    CAPTURE(name);
    const Model model = tests::tiny_model(name);
    const Profile profile = estimate(model, options_for("a100-80g", {64}));
    REQUIRE(profile.optimizer.size() == model.kinds.size());
    for (const OptimizerCost& cost : profile.optimizer) {
      const LayerCounts counts =
          count_kind(model, cost.kind, {.sequence = 64, .precision = kMegatronBfloat16});
      CHECK(cost.parameters == counts.parameters);
      CHECK(cost.gradients == counts.gradients);
      CHECK(cost.optimizer_state == counts.optimizer);
      const Bytes sum = cost.parameters + cost.gradients + cost.optimizer_state;
      CHECK(sum.count == 18 * counts.parameter_count);
    }
  }
}

TEST_CASE("estimate: what a layer keeps is what inspect counts, less its statistics") {
  for (const auto& [name, config] : tests::tiny_configs()) {
    CAPTURE(name);
    const Model model = tests::tiny_model(name);
    EstimateOptions options = options_for("a100-80g", {64});
    options.precision = kFloat32;
    const Profile profile = estimate(model, options);
    const LayerCounts counts = count_kind(model, 1, {.sequence = 64});
    const Measurement& block = row_of(profile, {.kind = 1, .micro_batch = 1, .sequence = 64});
    const std::int64_t less = counts.activations_per_token.count * 64 - block.saved.count;
    CHECK(less >= 0);
    CHECK(less <= 64 * 4 * 16);  // of norms (QK-norms too) and attention heads
  }
}

TEST_CASE("estimate: a block's collectives are Korthikanti et al.'s, the ends have their own") {
  EstimateOptions options = options_for("h100-sxm", {4096});
  options.tensor_degrees = {1, 8};
  options.micro_batches = {2};
  const Model model = testing::llama_405b();
  const Profile profile = estimate(model, options);
  const auto collectives = [&](int kind, int tensor) {
    return row_of(
               profile,
               {.kind = kind, .micro_batch = 2, .sequence = 4096, .sharding = {.tensor = tensor}})
        .collectives;
  };
  const Bytes boundary{2LL * 4096 * 16384 * 2};
  using Kind = CollectiveKind;
  using List = std::vector<Collective>;
  CHECK(collectives(1, 8) == List{{.kind = Kind::kAllGather, .count = 2, .size = boundary},
                                  {.kind = Kind::kReduceScatter, .count = 2, .size = boundary}});
  CHECK(collectives(0, 8) == List{{.kind = Kind::kReduceScatter, .count = 1, .size = boundary}});
  CHECK(collectives(2, 8) ==
        List{{.kind = Kind::kAllGather, .count = 1, .size = boundary},
             {.kind = Kind::kAllReduce, .count = 3, .size = Bytes{2LL * 4096 * 4}}});
  CHECK(collectives(1, 1).empty());
}

TEST_CASE("estimate: context-parallel devices share the tokens and gather keys and values") {
  EstimateOptions options = options_for("h100-sxm", {32768});
  options.tensor_degrees = {1, 8};
  options.context_degrees = {1, 4};
  options.micro_batches = {1};
  const Model model = testing::llama_405b();
  const Profile profile = estimate(model, options);
  const auto block = [&](int tensor, int context) {
    return row_of(profile, {.kind = 1,
                            .micro_batch = 1,
                            .sequence = 32768,
                            .sharding = {.tensor = tensor, .context = context}});
  };
  for (const int tensor : {1, 8}) {
    const Measurement whole = block(tensor, 1);
    const Measurement part = block(tensor, 4);
    CHECK(part.saved.count == whole.saved.count / 4);
    CHECK(part.output.count == whole.output.count / 4);
    CHECK(part.forward.median / whole.forward.median == doctest::Approx(0.25).epsilon(0.01));
    // Two of 8 heads of 128 features, of all tokens, divided among the tensor-parallel devices.
    const Collective gather{.kind = CollectiveKind::kAllGather,
                            .group = CollectiveGroup::kContext,
                            .count = 1,
                            .size = Bytes{2LL * 8 * 128 * 2 * 32768 / tensor}};
    CHECK(std::count(part.collectives.begin(), part.collectives.end(), gather) == 1);
  }
  options.context_degrees = {3};
  CHECK(message_of([&] { estimate(model, options); }) ==
        "context-parallel 3: does not cut 32768 tokens into 6 pieces alike");
  options.context_degrees = {16};
  CHECK(message_of([&] { estimate(model, options); }) ==
        "context-parallel 16: expected at most the 8 devices of the cluster");
}

TEST_CASE("estimate: more samples are never cheaper, a full recompute never keeps more") {
  const Profile profile = testing::estimated_profile(testing::llama_405b());
  for (const Measurement& row : profile.measurements) {
    if (row.micro_batch == 1) continue;
    Measurement like = row;
    like.micro_batch = row.micro_batch / 2;
    if (row.recompute_chunk > 0 && row.recompute_chunk >= like.micro_batch * row.sequence) continue;
    const Measurement& fewer = row_of(profile, like);
    CHECK(row.forward.median > fewer.forward.median);
    CHECK(row.backward.median > fewer.backward.median);
    CHECK(row.saved > fewer.saved);
    CHECK(row.forward_peak >= fewer.forward_peak);
    CHECK(row.backward_peak >= fewer.backward_peak);
    // Twice the samples take at most twice the time.
    CHECK(row.backward.median <= 2.0 * fewer.backward.median);
    if (row.recompute == Recompute::kNone) continue;
    like = row;
    like.recompute = Recompute::kNone;
    like.recompute_chunk = 0;
    CHECK(row.saved <= row_of(profile, like).saved);
    CHECK(row.backward.median > row_of(profile, like).backward.median);
  }
}

TEST_CASE("estimate: smaller chunks take longer and hold no more") {
  const Profile profile = testing::estimated_profile(testing::llama_405b());
  for (const Measurement& row : profile.measurements) {
    if (row.recompute_chunk < 512) continue;
    Measurement like = row;
    like.recompute_chunk = row.recompute_chunk / 2;
    const Measurement& smaller = row_of(profile, like);
    CHECK(smaller.backward.median >= row.backward.median);
    CHECK(smaller.backward_peak <= row.backward_peak);
  }
}

TEST_CASE("estimate: the grid of a large model stays small") {
  const Profile profile = testing::estimated_profile(testing::llama_405b(), {.cluster = {128, 8}});
  CHECK(profile.measurements.size() == 4 * (4 + 4 * 3 + 4 * 2) + 4 * 2 * (3 + 4 + 5 + 5));
  CHECK(profile.devices.size() == 8);
  CHECK(profile.cluster->device_count() == 1024);
  CHECK(profile.links.size() == 2);
  const Profile mixed = testing::estimated_profile(testing::mixed_61_layers());
  CHECK(mixed.model.layers.size() == 63);
  CHECK(mixed.model.kinds.size() == 4);
}

TEST_CASE("estimate: degrees that do not divide the model or a node are refused") {
  const Model model = tests::tiny_model("llama-tied");  // 4 heads, 2 key/value heads, 48 wide
  CHECK(tensor_degrees(model, 8) == std::vector<int>{1, 2});
  EstimateOptions options = options_for("h100-sxm", {64});
  options.tensor_degrees = {4};
  CHECK(message_of([&] { estimate(model, options); }) ==
        "tensor-parallel 4: does not divide the 2 key/value heads of block");
  options.tensor_degrees = {16};
  CHECK(message_of([&] { estimate(model, options); }) ==
        "tensor-parallel 16: expected at most the 8 devices of a node");
}

TEST_CASE("estimate: sizes beyond what a document holds and too many rows are refused") {
  const Model model = testing::llama_405b();
  EstimateOptions options = options_for("h100-sxm", {1LL << 30});
  options.micro_batches = {1'000'000};
  CHECK(message_of([&] { estimate(model, options); }).find("exceed 2^53 bytes") !=
        std::string::npos);
  options.sequences.clear();
  for (int sequence = 1; sequence < 30'000; ++sequence) options.sequences.push_back(sequence);
  options.micro_batches = {1};
  CHECK(message_of([&] { estimate(model, options); }) == "the estimate has more than 50000 rows");
}

TEST_CASE("estimate: an unknown device is refused with the one meant") {
  CHECK(message_of([] { find_data_sheet("h100-smx"); }) ==
        "device h100-smx: neither a known device nor a file");
  CHECK(test::hint_of([] { find_data_sheet("h100-smx"); }) == "did you mean h100-sxm?");
}

}  // namespace
}  // namespace ppplan::profiler
