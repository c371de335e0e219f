#include "profiler/estimate/estimate.h"

#include "profiler/estimate/program_memory.h"
#include "profiler/estimate/program_times.h"
#include "profiler/estimate/roofline.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace ppplan::profiler {
namespace {

/// Host time to start an action: a few calls into Python and into the collective library.
constexpr Seconds kCallOverhead{20e-6};

void check_tensor_degree(const Model& model, int degree, const Cluster& cluster) {
  if (degree > cluster.devices_per_node) {
    throw Error(Failure::kBadInput,
                fmt::format("tensor-parallel {}: expected at most the {} devices of a node", degree,
                            cluster.devices_per_node),
                "leave it out, or give a --cluster of larger nodes");
  }
  for (const LayerKind& kind : model.kinds) {
    const std::optional<std::string> obstacle = indivisible(kind, degree);
    if (!obstacle) continue;
    throw Error(Failure::kBadInput,
                fmt::format("tensor-parallel {}: does not divide the {} of {}", degree, *obstacle,
                            kind.name),
                "leave it out");
  }
}

/// A device has an early and a late piece of each sample, so that all have as much to attend to.
void check_context_degree(int degree, const EstimateOptions& options) {
  const std::int64_t piece_count = std::int64_t{2} * degree;
  for (const std::int64_t sequence : options.sequences) {
    if (degree == 1 || sequence % piece_count == 0) continue;
    throw Error(Failure::kBadInput,
                fmt::format("context-parallel {}: does not cut {} tokens into {} pieces alike",
                            degree, sequence, piece_count),
                "leave it out, or give other --sequence-lengths");
  }
  if (degree <= options.cluster.device_count()) return;
  throw Error(Failure::kBadInput,
              fmt::format("context-parallel {}: expected at most the {} devices of the cluster",
                          degree, options.cluster.device_count()),
              "leave it out, or give a larger --cluster");
}

void check_degrees(const Model& model, const EstimateOptions& options) {
  for (const int degree : options.tensor_degrees) {
    check_tensor_degree(model, degree, options.cluster);
  }
  for (const int degree : options.context_degrees) check_context_degree(degree, options);
}

/// What is recomputed, and in which chunks, at a number of tokens.
std::vector<PassShape> pass_shapes(const LayerKind& kind, std::int64_t tokens,
                                   const std::vector<std::int64_t>& chunks) {
  std::vector<PassShape> shapes{{.tokens = tokens}};
  if (kind.role == LayerRole::kBlock) {
    shapes.push_back({.tokens = tokens, .recompute = Recompute::kSelective});
    shapes.push_back({.tokens = tokens, .recompute = Recompute::kFull});
  }
  if (kind.role == LayerRole::kEmbedding) return shapes;
  PassShape chunked = shapes.back();
  for (const std::int64_t chunk : chunks) {
    if (chunk >= tokens) continue;
    chunked.chunk = chunk;
    shapes.push_back(chunked);
  }
  return shapes;
}

/// Rows of one kind at one sequence and sharding.
class KindEstimate {
 public:
  KindEstimate(const Model& model, int kind, const EstimateOptions& options, std::int64_t sequence,
               const Sharding& sharding)
      : kind_(kind),
        options_(&options),
        sequence_(sequence),
        roofline_(options.device, options.precision),
        program_(shard_program(model, model.kinds[static_cast<std::size_t>(kind)],
                               {.sequence = sequence,
                                .tensor = sharding.tensor,
                                .context = sharding.context,
                                .attention = options.attention,
                                .dropout = options.dropout,
                                .precision = options.precision})) {}

  /// `shape` has this device's tokens.
  [[nodiscard]] Measurement row(int micro_batch, const PassShape& shape) const {
    const PassTimes times =
        pass_times({program_, roofline_, options_->precision, sequence_}, shape);
    const PassMemory memory = pass_memory(program_, shape);
    Measurement row{.kind = kind_,
                    .micro_batch = micro_batch,
                    .sequence = sequence_,
                    .sharding = program_.sharding,
                    .recompute = shape.recompute,
                    .recompute_chunk = shape.chunk,
                    .forward = {.median = times.forward},
                    .backward = {.median = times.backward},
                    .backward_input = {.median = times.backward_input},
                    .backward_weight = {.median = times.backward_weight},
                    .recompute_extra = times.recompute_extra,
                    .saved = memory.saved,
                    .forward_peak = memory.forward_peak,
                    .backward_peak = memory.backward_peak,
                    .weight_pending = memory.weight_pending,
                    .output = memory.output,
                    .collectives = program_.collectives};
    for (Collective& collective : row.collectives) collective.size = collective.size * shape.tokens;
    return row;
  }

  /// AdamW reads gradients and state and writes state and weights; without weights of its own it
  /// reads those too. Clearing writes the gradients.
  [[nodiscard]] OptimizerCost optimizer() const {
    const Precision& p = options_->precision;
    const std::int64_t count = program_.parameter_count;
    const bool has_own_weights = p.optimizer_bytes > 2 * 4;
    const double moved =
        static_cast<double>(count) * (2.0 * p.gradient_bytes + 2.0 * p.optimizer_bytes +
                                      (has_own_weights ? 1.0 : 2.0) * p.parameter_bytes);
    return {.kind = kind_,
            .sharding = program_.sharding,
            .step = {.median = roofline_.stream(moved).total()},
            .parameters = Bytes{count * p.parameter_bytes},
            .gradients = Bytes{count * p.gradient_bytes},
            .optimizer_state = Bytes{count * p.optimizer_bytes}};
  }

 private:
  int kind_;
  const EstimateOptions* options_;
  std::int64_t sequence_;
  Roofline roofline_;
  ShardedProgram program_;
};

Link link_of(const LinkSheet& sheet, LinkScope scope) {
  return {.name = sheet.name,
          .backend = "nccl",
          .scope = scope,
          .latency = sheet.latency,
          .bandwidth = {sheet.bandwidth.value * sheet.efficiency},
          .samples = {}};
}

Profile machine_of(const Model& model, const EstimateOptions& options) {
  Profile profile;
  profile.tool_version = PPPLAN_VERSION;
  profile.origin = Origin::kEstimated;
  profile.model = model;
  for (int device = 0; device < options.cluster.devices_per_node; ++device) {
    profile.devices.push_back(
        {.name = options.device.name,
         .type = "cuda",
         .id = fmt::format("{}", device),
         .memory = options.device.memory,
         .peak_flops_per_s = peak_flops_per_s(options.device, options.precision)});
  }
  profile.cluster = options.cluster;
  profile.kernels = {.torch = "none",
                     .attention = options.attention == AttentionKernel::kFlash ? "flash" : "math",
                     .blas = "none",
                     .precision = options.precision.name};
  profile.call_overhead = kCallOverhead;
  profile.links = {link_of(options.device.inside, LinkScope::kInside),
                   link_of(options.device.between, LinkScope::kBetween)};
  return profile;
}

/// Rows of a kind at one sharding: all sequences and micro-batches, and the optimizer's.
void add_rows(Profile& profile, int kind, const Sharding& sharding,
              const EstimateOptions& options) {
  const LayerKind& layer = profile.model.kinds[static_cast<std::size_t>(kind)];
  for (const std::int64_t sequence : options.sequences) {
    const KindEstimate estimate(profile.model, kind, options, sequence, sharding);
    for (const int micro_batch : options.micro_batches) {
      const std::int64_t tokens = micro_batch * sequence / sharding.context;
      for (const PassShape& shape : pass_shapes(layer, tokens, options.recompute_chunks)) {
        if (profile.measurements.size() == kMostEstimates) {
          throw Error(Failure::kBadInput,
                      fmt::format("the estimate has more than {} rows", kMostEstimates),
                      "give fewer --micro-batches, --sequence-lengths or degrees");
        }
        profile.measurements.push_back(estimate.row(micro_batch, shape));
      }
    }
    if (sequence == options.sequences.front()) profile.optimizer.push_back(estimate.optimizer());
  }
}

}  // namespace

std::vector<int> tensor_degrees(const Model& model, int most) {
  std::vector<int> degrees;
  for (int degree = 1; degree <= most; degree *= 2) {
    const bool divides =
        std::none_of(model.kinds.begin(), model.kinds.end(),
                     [&](const LayerKind& kind) { return indivisible(kind, degree).has_value(); });
    if (divides) degrees.push_back(degree);
  }
  return degrees;
}

Profile estimate(const Model& model, const EstimateOptions& options) {
  check_degrees(model, options);
  Profile profile = machine_of(model, options);
  for (int kind = 0; kind < static_cast<int>(model.kinds.size()); ++kind) {
    for (const int tensor : options.tensor_degrees) {
      for (const int context : options.context_degrees) {
        add_rows(profile, kind, {.tensor = tensor, .context = context}, options);
      }
    }
  }
  return profile;
}

}  // namespace ppplan::profiler
