#include "tests/support/small_plan.h"

namespace ppplan::test {
namespace {

Model small_model() {
  Model model;
  model.name = "tiny";
  model.family = "llama";
  model.hidden = 4;
  model.vocabulary = 8;
  model.max_sequence = 64;
  const Parameter weight{
      .name = "weight", .shape = {8, 4}, .init = Init::kNormal, .init_std = 0.02};
  LayerKind embedding{
      .name = "embedding",
      .role = LayerRole::kEmbedding,
      .parameters = {weight},
      .program = {
          {.inputs = {"tokens"}, .outputs = {"x"}, .body = EmbeddingOp{.weight = "weight"}}}};
  LayerKind head{.name = "head",
                 .role = LayerRole::kHead,
                 .parameters = {weight},
                 .program = {{.inputs = {"x", "labels"},
                              .outputs = {"loss"},
                              .body = LinearCrossEntropyOp{
                                  .weight = "weight", .in_features = 4, .vocabulary = 8}}}};
  model.kinds = {embedding, head};
  model.layers = {{.prefix = "embed_tokens.", .kind = 0, .tied = {}, .frozen = false},
                  {.prefix = "lm_head.", .kind = 1, .tied = {}, .frozen = false}};
  return model;
}

}  // namespace

Plan small_plan() {
  Plan plan;
  plan.tool_version = PPPLAN_VERSION;
  plan.input_sha256 = std::string(64, 'a');
  plan.constraints = {.stage_count = 2,
                      .global_batch = 2,
                      .sequence = 16,
                      .micro_batch = 1,
                      .memory = {},
                      .schedules = {}};
  plan.model = small_model();
  plan.kernels = {.torch = "2.11.0",
                  .attention = "math",
                  .blas = "none",
                  .precision = "float32",
                  .threads = 1,
                  .pinned = true};
  plan.link = {.name = "loopback",
               .backend = "gloo",
               .latency = Seconds(0.001),
               .bandwidth = BytesPerSecond{1e9},
               .fit_error = 0.0,
               .samples = {}};
  plan.micro_batch = 1;
  plan.micro_batches = {1, 1};
  plan.schedule = "1f1b";
  for (const int rank : {0, 1}) {
    plan.stages.push_back({.rank = rank,
                           .first_layer = rank,
                           .layer_count = 1,
                           .forward = Seconds(0.125),
                           .backward = Seconds(0.25),
                           .backward_input = Seconds(0.125),
                           .backward_weight = Seconds(0.125),
                           .output = Bytes{rank == 0 ? 256 : 0}});
    PlanRank figures;
    figures.device = "core";
    figures.busy = Seconds(0.75);
    figures.idle = Seconds(0.25);
    figures.optimizer = Seconds(0.02);
    figures.memory.parameters = Bytes{1000};
    figures.in_flight = 2 - rank;
    plan.ranks.push_back(figures);
  }
  plan.predicted = {.step = Seconds(1.0), .bubble = 0.25, .tokens_per_s = 32.0};
  plan.lower_bound = Seconds(0.75);
  plan.verdict = {.worth_it = true, .speedup = 1.5, .sentence = "1.5 x one device"};
  return plan;
}

}  // namespace ppplan::test
