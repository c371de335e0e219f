#include "tests/support/random_documents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ppplan::test {
namespace {

LayerKind embedding(std::int64_t vocabulary, std::int64_t hidden) {
  return {"embedding",
          LayerRole::kEmbedding,
          {{"embed.weight", {vocabulary, hidden}, Init::kNormal, 0.02}},
          {{{"tokens"}, {"x"}, EmbeddingOp{"embed.weight"}}}};
}

LayerKind head(std::int64_t vocabulary, std::int64_t hidden) {
  return {
      "head",
      LayerRole::kHead,
      {{"norm.weight", {hidden}, Init::kOnes, 0.0},
       {"lm_head.weight", {vocabulary, hidden}, Init::kNormal, 0.02}},
      {{{"x"}, {"x"}, RmsNormOp{"norm.weight", hidden, 1e-5}},
       {{"x", "labels"}, {"loss"}, LinearCrossEntropyOp{"lm_head.weight", hidden, vocabulary}}}};
}

}  // namespace

std::int64_t RandomDocuments::integer(std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
}

double RandomDocuments::number() {
  if (integer(0, 9) == 0) return 0.0;
  const double fraction = std::uniform_real_distribution<double>(1.0, 10.0)(engine_);
  return fraction * std::pow(10.0, static_cast<double>(integer(-12, 10)));
}

std::vector<double> RandomDocuments::numbers() {
  std::vector<double> drawn(static_cast<std::size_t>(integer(0, 5)));
  for (double& value : drawn) value = number();
  return drawn;
}

std::string RandomDocuments::text() {
  static constexpr std::array kWords = {"",
                                        "null",
                                        "~",
                                        "yes",
                                        "No",
                                        "true",
                                        ".inf",
                                        "NaN",
                                        "4096",
                                        "1e-5",
                                        "0x1f",
                                        "2024-01-01",
                                        "12:30:45",
                                        "- a",
                                        "a: b",
                                        "a #b",
                                        "#a",
                                        "&a",
                                        "*a",
                                        "!a",
                                        "%a",
                                        "@a",
                                        "`a",
                                        "?",
                                        ": ",
                                        "{a}",
                                        "[a]",
                                        "a,b",
                                        "'",
                                        "\"",
                                        "\\",
                                        "---",
                                        "...",
                                        " a",
                                        "a ",
                                        "\ta",
                                        "a\nb",
                                        "\r\n",
                                        "\x7f",
                                        "\x04",
                                        "=",
                                        "<<",
                                        "|",
                                        ">",
                                        "model.layers.0.",
                                        "self_attn.q_proj.weight",
                                        "12.5 % slower (rank 1)",
                                        "core 3",
                                        "\xC2\x85",
                                        "\xE2\x80\xA8",
                                        "\xEF\xBB\xBF",
                                        "\xC3\xA9t\xC3\xA9",
                                        "\xF0\x9F\x98\x80",
                                        "-",
                                        "+1",
                                        "-.5",
                                        "_",
                                        "/a/b c"};
  std::string drawn = kWords[static_cast<std::size_t>(integer(0, std::ssize(kWords) - 1))];
  while (integer(0, 2) == 0) {
    if (coin()) drawn += static_cast<char>(integer(0, 127));
    drawn += kWords[static_cast<std::size_t>(integer(0, std::ssize(kWords) - 1))];
  }
  return drawn;
}

LayerKind RandomDocuments::block(const std::string& name, std::int64_t hidden) {
  const std::int64_t head_size = 2 * integer(1, 8);
  const std::int64_t kv_head_count = integer(1, 4);
  const std::int64_t head_count = kv_head_count * integer(1, 4);
  const std::int64_t query = head_count * head_size;
  const std::int64_t key = kv_head_count * head_size;
  const std::int64_t wide = integer(1, 64);
  const double deviation = number();
  RopeOp rope{head_size, 10000.0, {}};
  if (coin()) rope.scaling = {text(), number(), number(), number(), integer(0, 10000)};
  AttentionOp attention{head_count, kv_head_count, head_size, {}};
  if (coin()) attention.window = integer(1, 4096);
  return {name,
          LayerRole::kBlock,
          {{"n.weight", {hidden}, Init::kOnes, 0.0},
           {"q.weight", {query, hidden}, Init::kNormal, deviation},
           {"q.bias", {query}, Init::kZeros, 0.0},
           {"k.weight", {key, hidden}, Init::kNormal, deviation},
           {"v.weight", {key, hidden}, Init::kNormal, deviation},
           {"o.weight", {hidden, query}, Init::kNormal, deviation},
           {"gate.weight", {wide, hidden}, Init::kNormal, deviation},
           {"up.weight", {wide, hidden}, Init::kNormal, deviation},
           {"down.weight", {hidden, wide}, Init::kNormal, deviation}},
          {{{"x"}, {"h"}, RmsNormOp{"n.weight", hidden, 1e-6}},
           {{"h"}, {"q"}, LinearOp{"q.weight", "q.bias", hidden, query, WeightLayout::kOutIn}},
           {{"h"}, {"k"}, LinearOp{"k.weight", {}, hidden, key, WeightLayout::kOutIn}},
           {{"h"}, {"v"}, LinearOp{"v.weight", {}, hidden, key, WeightLayout::kOutIn}},
           {{"q"}, {"q"}, rope},
           {{"k"}, {"k"}, rope},
           {{"q", "k", "v"}, {"a"}, attention},
           {{"a"}, {"a"}, LinearOp{"o.weight", {}, query, hidden, WeightLayout::kOutIn}},
           {{"x", "a"}, {"x"}, AddOp{}},
           {{"x"}, {"g"}, LinearOp{"gate.weight", {}, hidden, wide, WeightLayout::kOutIn}},
           {{"x"}, {"u"}, LinearOp{"up.weight", {}, hidden, wide, WeightLayout::kOutIn}},
           {{"g", "u"}, {"g"}, GatedActivationOp{Activation::kSilu}},
           {{"g"}, {"g"}, LinearOp{"down.weight", {}, wide, hidden, WeightLayout::kOutIn}},
           {{"x", "g"}, {"x"}, AddOp{}}}};
}

LayerKind RandomDocuments::gpt_block(const std::string& name, std::int64_t hidden) {
  return {name,
          LayerRole::kBlock,
          {{"ln.weight", {hidden}, Init::kOnes, 0.0},
           {"ln.bias", {hidden}, Init::kZeros, 0.0},
           {"attn.weight", {hidden, 3 * hidden}, Init::kNormal, 0.02}},
          {{{"x"}, {"h"}, LayerNormOp{"ln.weight", "ln.bias", hidden, 1e-5}},
           {{"h"}, {"qkv"}, LinearOp{"attn.weight", {}, hidden, 3 * hidden, WeightLayout::kInOut}},
           {{"qkv"}, {"q", "k", "v"}, SplitOp{{hidden, hidden, hidden}}},
           {{"q", "k", "v"}, {"a"}, AttentionOp{1, 1, hidden, {}}},
           {{"a"}, {"a"}, ActivationOp{Activation::kGeluTanh}},
           {{"x", "a"}, {"x"}, AddOp{}}}};
}

Model RandomDocuments::model() {
  Model model;
  model.name = text();
  model.family = text();
  model.hidden = integer(1, 64);
  model.vocabulary = integer(1, 1000);
  model.max_sequence = integer(1, 4096);
  // Kinds are found by name: distinct ones.
  model.kinds = {embedding(model.vocabulary, model.hidden), block("a" + text(), model.hidden),
                 gpt_block("b" + text(), model.hidden), head(model.vocabulary, model.hidden)};
  const std::int64_t block_count = integer(0, 12);
  model.layers.push_back({"model.", 0, {}, coin()});
  for (std::int64_t layer = 0; layer < block_count; ++layer) {
    model.layers.push_back(
        {"model.layers." + std::to_string(layer) + text() + ".", small(1, 2), {}, coin()});
  }
  model.layers.push_back({"", 3, {}, coin()});
  if (coin()) model.layers.back().tied = {{"lm_head.weight", "model.embed.weight"}};
  return model;
}

Timing RandomDocuments::timing() {
  return {seconds(), number(), small(0, 1000)};
}

Kernels RandomDocuments::kernels() {
  return {text(), text(), text(), text(), small(1, 64), coin()};
}

Link RandomDocuments::link() {
  Link link = {.name = text(),
               .backend = text(),
               .scope = coin() ? LinkScope::kInside : LinkScope::kBetween,
               .latency = seconds(),
               .bandwidth = BytesPerSecond{number() + 1.0},
               .fit_error = number(),
               .samples = {}};
  for (std::int64_t sample = integer(0, 4); sample > 0; --sample)
    link.samples.push_back({bytes(), timing()});
  return link;
}

Sharding RandomDocuments::sharding() {
  return {small(1, 8), small(1, 2), small(1, 4)};
}

LinkSheet RandomDocuments::link_sheet() {
  return {.name = text(),
          .latency = seconds(),
          .bandwidth = {1e3 + number()},
          .efficiency = coin() ? 0.8 : 0.5};
}

DeviceSheet RandomDocuments::device_sheet() {
  return {.name = text(),
          .memory = bytes(),
          .memory_bandwidth = {1e3 + number()},
          .half_flops_per_s = 1e6 + number(),
          .float32_flops_per_s = 1e6 + number(),
          .matrix_efficiency = coin() ? 0.75 : 0.3,
          .memory_efficiency = coin() ? 0.85 : 1.0,
          .kernel_overhead = seconds(),
          .launch = seconds(),
          .devices_per_node = small(1, 64),
          .inside = link_sheet(),
          .between = link_sheet()};
}

Profile RandomDocuments::profile() {
  Profile profile;
  profile.tool_version = text();
  profile.input_sha256 = text();
  profile.origin = static_cast<Origin>(integer(0, 2));
  profile.model = model();
  for (std::int64_t device = integer(1, 4); device > 0; --device)
    profile.devices.push_back(
        {text(), text(), text(), bytes(), coin() ? 1.0 : 0.5, coin() ? 0.0 : 312e12});
  if (coin()) profile.cluster = {small(1, 100), small(1, 8)};
  profile.kernels = kernels();
  profile.target_spread = number();
  profile.call_overhead = seconds();
  profile.step_overhead = seconds();
  for (int kind = 0; kind < 4; ++kind) {
    for (int workers = 1; workers <= 2; ++workers) {
      Measurement& row = profile.measurements.emplace_back(
          Measurement{.kind = kind,
                      .micro_batch = small(1, 64),
                      .sequence = integer(1, 8192),
                      .sharding = sharding(),
                      .recompute = static_cast<Recompute>(integer(0, 2)),
                      .recompute_chunk = coin() ? integer(1, 512) : 0,
                      .concurrent_workers = workers,
                      .forward = timing(),
                      .backward = timing(),
                      .backward_input = timing(),
                      .backward_weight = timing(),
                      .recompute_extra = seconds(),
                      .saved = bytes(),
                      .forward_peak = bytes(),
                      .backward_peak = bytes(),
                      .weight_pending = bytes(),
                      .output = bytes(),
                      .stable = coin(),
                      .variation = coin() ? 0.25 : 0.0});
      for (std::int64_t count = integer(0, 2); count > 0; --count) {
        row.collectives.push_back({static_cast<CollectiveKind>(integer(0, 3)),
                                   static_cast<CollectiveGroup>(integer(0, 2)), small(1, 4),
                                   bytes()});
      }
      profile.optimizer.push_back({kind, sharding(), workers, timing(), bytes(), bytes(), bytes()});
    }
  }
  for (std::int64_t count = integer(1, 3); count > 0; --count) profile.links.push_back(link());
  return profile;
}

Batching RandomDocuments::batching(int rank_count) {
  Batching batching{.method = static_cast<BatchingMethod>(integer(0, 3)),
                    .memory_pool = coin() ? MemoryPool::kStatic : MemoryPool::kDynamic,
                    .longest = integer(1, 4096),
                    .micro_batch = small(1, 9),
                    .buckets = {{7, small(1, 9)}, {4096, small(1, 9)}},
                    .max_tokens = integer(1, 1 << 20),
                    .times = {{9, {1, 3, 7}, {seconds(), seconds(), seconds()}},
                              {5000, {2, 7}, {seconds(), seconds()}}},
                    .order_within = coin() ? RunOrder::kRising : RunOrder::kFalling,
                    .packed_cost = coin() ? PackedCost::kBySample : PackedCost::kByTokens,
                    .sampled_batches = small(1, 99),
                    .seed = engine_(),
                    .cut_samples = integer(0, 99)};
  std::shuffle(batching.order.begin(), batching.order.end(), engine_);
  for (std::int64_t count = integer(0, 4); count > 0; --count) {
    BatchingOutcome& outcome = batching.compared.emplace_back();
    outcome = {static_cast<BatchingMethod>(integer(0, 3)),
               text(),
               number(),
               number(),
               0.5,
               seconds(),
               seconds(),
               {},
               {},
               {},
               text()};
    for (int rank = 0; rank < rank_count; ++rank) {
      outcome.rank_stalls.push_back(seconds());
      outcome.static_peaks.push_back(bytes());
      outcome.dynamic_peaks.push_back(bytes());
    }
  }
  return batching;
}

Plan RandomDocuments::plan() {
  Plan plan;
  plan.tool_version = text();
  plan.input_sha256 = text();
  plan.model = model();
  plan.kernels = kernels();
  plan.link = link();
  plan.export_only = coin();
  if (plan.export_only) {
    plan.layout = {.sharding = sharding(),
                   .data_parallel = small(1, 8),
                   .data_sharding = static_cast<DataSharding>(integer(0, 2)),
                   .order = coin() ? DeviceOrder::kDataInside : DeviceOrder::kPipelineInside};
  }
  if (coin()) plan.recompute_chunk = integer(1, 4096);
  plan.micro_batch = small(1, 8);
  for (std::int64_t count = integer(1, 9); count > 0; --count) {
    plan.micro_batches.push_back(small(1, plan.micro_batch));
    plan.constraints.global_batch += plan.micro_batches.back() * plan.layout.data_parallel;
  }
  plan.constraints.sequence = integer(1, 4096);
  if (coin()) plan.constraints.stage_count = small(1, 16);
  if (coin()) plan.constraints.memory = bytes();
  if (coin()) plan.constraints.micro_batch = small(1, 8);
  if (coin()) plan.constraints.virtual_count = small(1, 4);
  if (coin()) plan.constraints.pins = {{small(0, 3), small(4, 9), small(0, 5)}, {1, 1, 0}};
  if (coin()) plan.constraints.layer_counts = {small(1, 9), small(0, 9), small(1, 9)};
  if (coin()) plan.constraints.schedules = {text(), text()};
  if (coin()) plan.constraints.device_count = small(1, 1024);
  if (coin()) plan.constraints.tensor_parallel = small(1, 8);
  if (coin()) plan.constraints.data_parallel = small(1, 8);
  if (coin()) plan.constraints.data_sharding = static_cast<DataSharding>(integer(0, 2));
  if (coin()) plan.constraints.recompute = static_cast<Recompute>(integer(0, 2));
  if (coin()) plan.constraints.recompute_chunk = integer(0, 4096);
  if (coin()) plan.constraints.reserve = bytes();
  if (coin()) plan.available_devices = small(1, 1024);
  const int rank_count = small(1, 4);
  const int stage_count = rank_count * small(1, 2);
  auto left = static_cast<int>(plan.model.layers.size());
  int first = 0;
  for (int stage = 0; stage < stage_count; ++stage) {
    const int layers = stage + 1 == stage_count ? left : small(stage == 0 ? 1 : 0, left - 1);
    plan.stages.push_back(
        {stage % rank_count, first, layers, seconds(), seconds(), seconds(), seconds(), bytes()});
    first += layers;
    left -= layers;
  }
  for (int rank = 0; rank < rank_count; ++rank) {
    plan.ranks.push_back({text(),
                          seconds(),
                          seconds(),
                          seconds(),
                          seconds(),
                          {bytes(), bytes(), bytes(), bytes(), bytes(), bytes()},
                          small(0, 99)});
  }
  plan.schedule = coin() ? "custom" : text();
  if (plan.schedule == "custom")
    plan.actions.assign(static_cast<std::size_t>(rank_count), "0F0,0F1,,0B0,0B1");
  plan.predicted = {.step = seconds(),
                    .bubble = std::uniform_real_distribution<double>(0.0, 1.0)(engine_),
                    .tokens_per_s = number(),
                    .tokens_per_s_per_device = coin() ? 0.0 : number(),
                    .mfu = coin() ? 0.0 : 0.5};
  plan.lower_bound = seconds();
  for (std::int64_t count = integer(0, 3); count > 0; --count) {
    plan.runners_up.push_back({.layout = {.sharding = sharding(), .data_parallel = small(1, 8)},
                               .rank_count = small(1, 3),
                               .schedule = text(),
                               .micro_batch = small(1, 9),
                               .micro_batch_count = small(1, 9),
                               .recompute_chunk = coin() ? integer(1, 4096) : 0,
                               .layer_counts = {1, 2, 3},
                               .step = seconds(),
                               .peak = bytes(),
                               .reason = text()});
  }
  plan.verdict = {coin(), number(), text()};
  if (coin()) plan.batching = batching(rank_count);
  return plan;
}

GradientCheck RandomDocuments::gradient_check() {
  return {integer(0, 1000), number(), text(), -number(), number(), coin()};
}

RankReport RandomDocuments::rank_report() {
  RankReport report = {small(0, 99), small(0, 99), seconds(), seconds(), seconds(),
                       seconds(),    seconds(),    seconds(), bytes(),   bytes(),
                       numbers(),    numbers(),    {}};
  if (coin()) report.gradients = gradient_check();
  return report;
}

RunReport RandomDocuments::run_report() {
  RunReport report;
  report.tool_version = text();
  report.input_sha256 = text();
  report.step_count = small(0, 100);
  report.warmup_step_count = small(0, 100);
  report.predicted_step = seconds();
  report.measured_step = seconds();
  report.measured_spread = number();
  report.predicted_tokens_per_s = number();
  report.measured_tokens_per_s = number();
  report.losses = numbers();
  if (coin()) report.reference_loss = number();
  if (coin()) report.loss_error = number();
  if (coin()) report.gradients = gradient_check();
  for (std::int64_t count = integer(0, 4); count > 0; --count) {
    report.ranks.push_back({small(0, 9), small(0, 9), small(0, 9), seconds(), seconds(), seconds(),
                            seconds(), seconds(), seconds(), seconds(), seconds(), seconds(),
                            seconds(), seconds(), bytes(), bytes(), bytes()});
  }
  report.kernels = kernels();
  if (coin()) report.warnings = {text(), text()};
  return report;
}

WorkerPlacement RandomDocuments::placement() {
  WorkerPlacement placement;
  placement.threads = small(1, 8);
  for (std::int64_t count = integer(0, 4); count > 0; --count)
    placement.cores.push_back(small(0, 64));
  return placement;
}

Rendezvous RandomDocuments::rendezvous() {
  return {text(), small(0, 65535), seconds()};
}

RunJob RandomDocuments::run_job() {
  RunJob job;
  job.plan = text();
  job.output = text();
  job.step_count = small(0, 100);
  job.warmup_step_count = small(0, 100);
  job.seed = engine_();
  job.learning_rate = number();
  job.data = text();
  if (coin()) job.weights = text();
  job.verify = coin();
  job.tolerance = number();
  job.rendezvous = rendezvous();
  for (std::int64_t count = integer(0, 4); count > 0; --count) job.workers.push_back(placement());
  job.reference = placement();
  return job;
}

ProfileJob RandomDocuments::profile_job() {
  ProfileJob job;
  job.model = model();
  job.input_sha256 = text();
  job.output = text();
  job.micro_batches = {1, small(2, 64)};
  job.sequences = {integer(1, 8192)};
  job.target_spread = number();
  job.row_budget = seconds();
  job.rendezvous = rendezvous();
  job.workers = {placement(), placement()};
  return job;
}

ReferenceReport RandomDocuments::reference_report() {
  return {number(), integer(0, 100000), seconds(), bytes()};
}

RankFailure RandomDocuments::rank_failure() {
  return {small(0, 99), text(), text(), text(), small(0, 255), number(), coin()};
}

}  // namespace ppplan::test
