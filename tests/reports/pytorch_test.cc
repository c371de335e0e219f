#include "reports/export/pytorch.h"

#include "reports/documents/error.h"
#include "reports/export/exporter.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

namespace ppplan::exports {
namespace {

/// embedding, three blocks, head; the head's matrix is the embedding's.
Model tiny_model() {
  Model model;
  model.name = "tiny";
  model.hidden = 8;
  model.vocabulary = 16;
  model.kinds = {
      {"embedding", LayerRole::kEmbedding, {{"embed_tokens.weight", {16, 8}}}, {}},
      {"block", LayerRole::kBlock, {{"mlp.up.weight", {8, 8}}, {"mlp.up.bias", {8}}}, {}},
      {"head", LayerRole::kHead, {{"model.norm.weight", {8}}, {"lm_head.weight", {16, 8}}}, {}}};
  model.layers = {{.prefix = "model.", .kind = 0, .tied = {}}};
  for (int block = 0; block < 3; ++block) {
    model.layers.push_back(
        {.prefix = fmt::format("model.layers.{}.", block), .kind = 1, .tied = {}});
  }
  model.layers.push_back(
      {.prefix = "", .kind = 2, .tied = {{"lm_head.weight", "model.embed_tokens.weight"}}});
  return model;
}

/// One stage a rank of those layer counts.
Plan tiny_plan(const std::vector<int>& layer_counts, std::vector<int> micro_batches) {
  Plan plan;
  plan.tool_version = "0.1.0";
  plan.model = tiny_model();
  plan.schedule = "gpipe";
  plan.constraints.sequence = 32;
  for (const int samples : micro_batches) plan.constraints.global_batch += samples;
  plan.micro_batch = micro_batches.front();
  plan.micro_batches = std::move(micro_batches);
  int next = 0;
  for (const int count : layer_counts) {
    PlanStage& stage = plan.stages.emplace_back();
    stage.rank = static_cast<int>(plan.ranks.size());
    stage.first_layer = next;
    stage.layer_count = count;
    plan.ranks.emplace_back();
    next += count;
  }
  return plan;
}

std::string file(const Export& result, std::string_view name) {
  const auto& files = std::get<std::vector<ExportedFile>>(result);
  const auto found = std::ranges::find(files, name, &ExportedFile::name);
  REQUIRE(found != files.end());
  return found->content;
}

Inexpressible refusal(const Plan& plan) {
  return std::get<Inexpressible>(export_pytorch(plan));
}

TEST_CASE("export pytorch: the schedule is PyTorch's CSV, one row a rank") {
  const Export result = export_pytorch(tiny_plan({2, 3}, {4, 4}));
  CHECK(file(result, "schedule.csv") == "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
}

TEST_CASE("export pytorch: split points are the first modules of all stages but the first") {
  const Export result = export_pytorch(tiny_plan({1, 2, 1, 1}, {1}));
  const std::string points = file(result, "split_points.json");
  CHECK(points.find("\"model.layers.0\": \"BEGINNING\"") != std::string::npos);
  CHECK(points.find("\"model.layers.2\": \"BEGINNING\"") != std::string::npos);
  CHECK(points.find("\"model.norm\": \"BEGINNING\"") != std::string::npos);
  CHECK(points.find("embed_tokens") == std::string::npos);
  CHECK(points.find("model.layers.1") == std::string::npos);
}

TEST_CASE("export pytorch: the plan's facts name every module once") {
  const std::string facts = file(export_pytorch(tiny_plan({2, 3}, {4, 4})), "plan.json");
  for (const char* module : {"\"model.embed_tokens\"", "\"model.layers.0\"", "\"model.layers.1\"",
                             "\"model.layers.2\"", "\"model.norm\"", "\"lm_head\""}) {
    const std::size_t first = facts.find(module);
    REQUIRE(first != std::string::npos);
    CHECK(facts.find(module, first + 1) == std::string::npos);
  }
  CHECK(facts.find("\"micro_batch_count\": 2") != std::string::npos);
  CHECK(facts.find("\"global_batch\": 8") != std::string::npos);
}

TEST_CASE(
    "export pytorch: the number of blocks is told, so that a model is cut as the plan's was") {
  const Export result = export_pytorch(tiny_plan({3, 2}, {4, 4}));
  CHECK(file(result, "plan.json").find("\"block_count\": 3") != std::string::npos);
  CHECK(file(result, "README.md").find("The plan is of 3 blocks") != std::string::npos);
}

TEST_CASE("export pytorch: a tied weight names its owner's stage first") {
  const std::string facts = file(export_pytorch(tiny_plan({2, 3}, {4, 4})), "plan.json");
  const std::string tied = facts.substr(facts.find("\"tied\""));
  CHECK(tied.find("[0, 1]") != std::string::npos);
  CHECK(tied.find("[\"model.embed_tokens.weight\", \"lm_head.weight\"]") != std::string::npos);
}

TEST_CASE("export pytorch: the scripts come along, and the guide says how to launch them") {
  const Export result = export_pytorch(tiny_plan({2, 3}, {4, 4}));
  CHECK(file(result, "train.py").starts_with("\"\"\"Trains the plan"));
  CHECK(file(result, "hf_stages.py").starts_with("\"\"\"Pipeline stages"));
  CHECK(file(result, "README.md").find("torchrun --nproc-per-node 2 train.py") !=
        std::string::npos);
}

TEST_CASE("export pytorch: uneven micro-batches are refused with the nearest even size") {
  const Inexpressible refused = refusal(tiny_plan({2, 3}, {3, 3, 2}));
  CHECK(refused.reason.find("micro-batches of 3 and 2 samples") != std::string::npos);
  CHECK(refused.nearest.find("--micro-batch 2' makes 4 equal") != std::string::npos);
}

TEST_CASE("export pytorch: a stage without layers is refused with the number of full stages") {
  const Inexpressible refused = refusal(tiny_plan({2, 0, 3}, {4, 4}));
  CHECK(refused.reason.find("stage 1") != std::string::npos);
  CHECK(refused.nearest.find("--stages 2") != std::string::npos);
}

TEST_CASE("export pytorch: replicas and frozen layers are refused") {
  Plan replicated = tiny_plan({2, 3}, {4, 4});
  replicated.layout.data_parallel = 2;
  CHECK(refusal(replicated).reason.find("data parallelism of 2") != std::string::npos);
  Plan frozen = tiny_plan({2, 3}, {4, 4});
  frozen.model.layers[1].frozen = true;
  CHECK(refusal(frozen).reason.find("layer 1 is frozen") != std::string::npos);
}

TEST_CASE("export: a layer that no stage holds is an error") {
  CHECK_THROWS_WITH_AS(export_pytorch(tiny_plan({2, 2}, {4})),
                       "stages hold 4 layers, the model has 5", Error);
  Plan gap = tiny_plan({2, 3}, {4});
  gap.stages[1].first_layer = 3;
  CHECK_THROWS_WITH_AS(export_pytorch(gap),
                       "stages do not follow each other: expected layer 2 first, found 3", Error);
}

TEST_CASE("export: a module in two layers is an error") {
  Plan plan = tiny_plan({2, 3}, {4});
  plan.model.layers[2].prefix = plan.model.layers[1].prefix;
  CHECK_THROWS_WITH_AS(export_pytorch(plan), "module 'model.layers.0' belongs to two layers",
                       Error);
}

TEST_CASE("export: an unknown trainer gets the nearest name") {
  CHECK(find_exporter("pytorch").name == "pytorch");
  try {
    find_exporter("pytroch");
    FAIL("expected an error");
  } catch (const Error& error) {
    CHECK(error.hint() == "did you mean 'pytorch'?");
  }
}

}  // namespace
}  // namespace ppplan::exports
