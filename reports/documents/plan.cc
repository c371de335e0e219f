#include "reports/documents/plan.h"

#include "reports/documents/described.h"
#include "reports/documents/file.h"
#include "reports/documents/mapping.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ppplan {
namespace {

constexpr Schema kSchema = {"plan", 1};
constexpr IntegerRange kSamples = {1, 1'000'000'000};
constexpr IntegerRange kPieces = {0, kSamples.most};
constexpr IntegerRange kRank = {0, 65'535};
constexpr IntegerRange kDegree = {1, 65'536};
constexpr IntegerRange kLayer = {0, 100'000};
constexpr std::size_t kMostRanks = 65'536;
constexpr std::size_t kMostMicroBatches = 1'000'000;
constexpr std::string_view kCustomSchedule = "custom";

}  // namespace

const std::vector<std::string>& sharding_words() {
  static const std::vector<std::string> words = {"none", "optimizer", "parameters"};
  return words;
}

const std::vector<std::string>& order_words() {
  static const std::vector<std::string> words = {"data-inside", "pipeline-inside"};
  return words;
}

template <typename Io>
void describe(Io& io, Like<LayerPin> auto& pin) {
  io("first_layer", pin.first_layer, kLayer);
  io("last_layer", pin.last_layer, kLayer);
  io("stage", pin.stage, kRank);
}

template <typename Io>
void describe(Io& io, Like<Constraints> auto& constraints) {
  io.optional("stage_count", constraints.stage_count, kDegree);
  io.optional("virtual_count", constraints.virtual_count, kDegree);
  io("global_batch", constraints.global_batch, kSamples);
  io("sequence", constraints.sequence, kSamples);
  io.optional("micro_batch", constraints.micro_batch, kSamples);
  io.optional("memory_bytes", constraints.memory);
  io("schedules", constraints.schedules);
  if (io.holds("pins", !constraints.pins.empty())) io.rows("pins", constraints.pins);
  if (io.holds("layer_counts", !constraints.layer_counts.empty())) {
    io("layer_counts", constraints.layer_counts, kLayer);
  }
  io.optional("devices", constraints.device_count, kDegree);
  io.optional("tensor_parallel", constraints.tensor_parallel, kDegree);
  io.optional("data_parallel", constraints.data_parallel, kDegree);
  io.optional_word("data_sharding", constraints.data_sharding, sharding_words());
  io.usual_word("recompute", constraints.recompute, Recompute::kFull, recompute_words());
  io.optional("recompute_chunk_size", constraints.recompute_chunk, kPieces);
  io.usually("reserve_bytes", constraints.reserve, Bytes{0});
}

template <typename Io>
void describe_layout(Io& io, Like<Layout> auto& layout) {
  io("tensor_parallel", layout.sharding.tensor, kDegree);
  io.usually("context_parallel", layout.sharding.context, 1, kDegree);
  io.usually("expert_parallel", layout.sharding.expert, 1, kDegree);
  io("data_parallel", layout.data_parallel, kDegree);
  io.usual_word("data_sharding", layout.data_sharding, DataSharding::kNone, sharding_words());
  io.usual_word("device_order", layout.order, DeviceOrder::kDataInside, order_words());
}

template <typename Io>
void describe(Io& io, Like<RecomputeRun> auto& run) {
  io("layer_count", run.layer_count, IntegerRange{1, kLayer.most});
  io.word("recompute", run.recompute, recompute_words());
  io.usually("segment", run.segment, 1, IntegerRange{1, kLayer.most});
}

template <typename Io>
void describe(Io& io, Like<Rival> auto& rival) {
  io("way", rival.way);
  io("devices", rival.device_count, kDegree);
  io("layout", rival.layout);
  io("micro_batch", rival.micro_batch);
  io("step_s", rival.step);
  io("tokens_per_s", rival.tokens_per_s);
  io("peak_bytes", rival.peak);
  io("fits", rival.fits);
}

template <typename Io>
void describe(Io& io, Like<MemoryBreakdown> auto& memory) {
  io("parameter_bytes", memory.parameters);
  io("gradient_bytes", memory.gradients);
  io("optimizer_state_bytes", memory.optimizer_state);
  io("activation_bytes", memory.activations);
  io("transient_bytes", memory.transient);
  io("buffer_bytes", memory.buffers);
}

template <typename Io>
void describe(Io& io, Like<PlanStage> auto& stage) {
  io("rank", stage.rank, kRank);
  io("first_layer", stage.first_layer, kLayer);
  io("layer_count", stage.layer_count, kLayer);
  io("forward_s", stage.forward);
  io("backward_s", stage.backward);
  io("backward_input_s", stage.backward_input);
  io("backward_weight_s", stage.backward_weight);
  io("output_bytes", stage.output);
  io.optional_rows("recompute", stage.recompute);
}

template <typename Io>
void describe(Io& io, Like<PlanRank> auto& rank) {
  io("device", rank.device);
  io("busy_s", rank.busy);
  io("idle_s", rank.idle);
  io("reduction_s", rank.reduction);
  io("optimizer_s", rank.optimizer);
  io("in_flight", rank.in_flight);
  io.row("memory", rank.memory);
}

template <typename Io>
void describe(Io& io, Like<Prediction> auto& prediction) {
  io("step_s", prediction.step);
  io("bubble", prediction.bubble, NumberRange{0.0, 1.0});
  io("tokens_per_s", prediction.tokens_per_s);
  io.usually("tokens_per_s_per_device", prediction.tokens_per_s_per_device, 0.0);
  io.usually("mfu", prediction.mfu, 0.0);
}

template <typename Io>
void describe(Io& io, Like<RunnerUp> auto& runner_up) {
  describe_layout(io, runner_up.layout);
  io("ranks", runner_up.rank_count, kDegree);
  io("schedule", runner_up.schedule);
  io("micro_batch", runner_up.micro_batch);
  io("micro_batch_count", runner_up.micro_batch_count);
  io.usually("recompute_chunk_size", runner_up.recompute_chunk, std::int64_t{0}, kSamples);
  io("layer_counts", runner_up.layer_counts, kLayer);
  io("step_s", runner_up.step);
  io("peak_bytes", runner_up.peak);
  io("reason", runner_up.reason);
}

template <typename Io>
void describe(Io& io, Like<Verdict> auto& verdict) {
  io("worth_it", verdict.worth_it);
  io("speedup", verdict.speedup);
  io("sentence", verdict.sentence);
}

template <typename Io>
void describe(Io& io, Like<Plan> auto& plan) {
  io("tool_version", plan.tool_version);
  io("input_sha256", plan.input_sha256);
  io.row("constraints", plan.constraints);
  describe_layout(io, plan.layout);
  io.usually("available_devices", plan.available_devices, 0, kDegree);
  io("export_only", plan.export_only);
  io.usually("recompute_chunk_size", plan.recompute_chunk, std::int64_t{0}, kSamples);
  io("micro_batch", plan.micro_batch, kSamples);
  io("micro_batches", plan.micro_batches, kSamples);
  io("schedule", plan.schedule);
  if (io.holds("actions", !plan.actions.empty())) io.lines("actions", plan.actions);
  io.rows("stages", plan.stages);
  io.rows("ranks", plan.ranks);
  io.row("predicted", plan.predicted);
  io("lower_bound_s", plan.lower_bound);
  io.row("verdict", plan.verdict);
  io.optional_rows("rivals", plan.rivals);
  io.rows("runners_up", plan.runners_up);
  io.optional_block("batching", plan.batching);
  io.row("kernels", plan.kernels);
  io.block("link", plan.link);
  io.block("model", plan.model);
}

namespace {

/// Runs of recompute, where there are any, cover the stage.
void check_recompute(const PlanStage& stage, const Fields& fields) {
  if (stage.recompute.empty()) return;
  std::int64_t covered = 0;
  for (const RecomputeRun& run : stage.recompute) covered += run.layer_count;
  if (covered == stage.layer_count) return;
  fields.fail("recompute",
              fmt::format("expected {} layers in all, found {}", stage.layer_count, covered));
}

/// Stages hold every layer once and in order; every rank has a stage and every stage a rank.
void check_stages(const Plan& plan, const Fields& fields) {
  const std::vector<Fields> rows = fields.maps("stages");
  const std::size_t rank_count = plan.ranks.size();
  if (rank_count == 0 || rank_count > kMostRanks) {
    fields.fail("ranks", fmt::format("expected 1 to {} ranks, found {}", kMostRanks, rank_count));
  }
  if (rows.empty() || rows.size() > kMostRanks) {
    fields.fail("stages",
                fmt::format("expected 1 to {} stages, found {}", kMostRanks, rows.size()));
  }
  std::vector<bool> used(rank_count, false);
  const auto layer_count = static_cast<int>(plan.model.layers.size());
  int next_layer = 0;
  for (std::size_t place = 0; place < rows.size(); ++place) {
    const PlanStage& stage = plan.stages[place];
    if (static_cast<std::size_t>(stage.rank) >= rank_count) {
      rows[place].fail("rank", fmt::format("expected a rank from 0 to {}, found {}", rank_count - 1,
                                           stage.rank));
    }
    used[static_cast<std::size_t>(stage.rank)] = true;
    if (stage.first_layer != next_layer) {
      rows[place].fail("first_layer",
                       fmt::format("expected {}, found {}", next_layer, stage.first_layer),
                       "stages hold every layer once, in order");
    }
    if (stage.layer_count == 0 && (place == 0 || place + 1 == rows.size())) {
      rows[place].fail("layer_count", "expected at least 1, found 0",
                       "the first stage reads tokens and the last one gives the loss");
    }
    check_recompute(stage, rows[place]);
    next_layer += stage.layer_count;
    if (next_layer > layer_count) {
      rows[place].fail("layer_count",
                       fmt::format("expected at most {}, found {}", layer_count - stage.first_layer,
                                   stage.layer_count),
                       fmt::format("the model has {} layers", layer_count));
    }
  }
  if (next_layer != layer_count) {
    fields.fail("stages",
                fmt::format("expected {} layers in all stages, found {}", layer_count, next_layer),
                "stages hold every layer once, in order");
  }
  for (std::size_t rank = 0; rank < rank_count; ++rank) {
    if (!used[rank])
      fields.fail("ranks",
                  fmt::format("expected a stage on every rank, found none on rank {}", rank));
  }
}

void check_micro_batches(const Plan& plan, const Fields& fields) {
  const std::size_t count = plan.micro_batches.size();
  if (count == 0 || count > kMostMicroBatches) {
    fields.fail("micro_batches",
                fmt::format("expected 1 to {} micro-batches, found {}", kMostMicroBatches, count));
  }
  for (const int samples : plan.micro_batches) {
    if (samples > plan.micro_batch) {
      fields.fail("micro_batches",
                  fmt::format("expected at most {} samples each (micro_batch), found {}",
                              plan.micro_batch, samples));
    }
  }
  const std::int64_t sum =
      std::accumulate(plan.micro_batches.begin(), plan.micro_batches.end(), std::int64_t{0});
  const int pipelines = plan.layout.data_parallel;
  if (sum * pipelines != plan.constraints.global_batch) {
    fields.fail(
        "micro_batches",
        fmt::format("expected {} samples in all (global_batch), found {}{}",
                    plan.constraints.global_batch, sum,
                    pipelines > 1 ? fmt::format(" on each of {} pipelines", pipelines) : ""));
  }
}

void check_actions(const Plan& plan, const Fields& fields) {
  const bool custom = plan.schedule == kCustomSchedule;
  if (custom && plan.actions.empty())
    fields.fail("schedule", "expected actions with a custom schedule, found none");
  if (!plan.actions.empty() && plan.actions.size() != plan.ranks.size()) {
    fields.fail("actions", fmt::format("expected one line for each of {} ranks, found {}",
                                       plan.ranks.size(), plan.actions.size()));
  }
}

}  // namespace

void validate(const Plan& plan, const Fields& fields) {
  check_stages(plan, fields);
  check_micro_batches(plan, fields);
  check_actions(plan, fields);
  if (plan.ranks.size() > 1) check_bandwidth(plan.link, fields.map("link"));
  if (!plan.export_only && plan.layout.device_count() > 1) {
    fields.fail("export_only", "expected true with more than one device a rank, found false");
  }
}

Plan read_plan(std::string_view text, const std::string& name) {
  return read_document<Plan>(text, name, kSchema);
}

Plan load_plan(const std::filesystem::path& path) {
  return read_plan(read_file(path), path.string());
}

std::string write_plan(const Plan& plan) {
  return write_document(plan, kSchema);
}

}  // namespace ppplan
