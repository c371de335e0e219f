#include "tests/support/synthetic_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>

namespace ppplan::testing {
namespace {

Timing timing(double seconds) {
  return {.median = Seconds(seconds), .spread = 0.01, .repeats = 10};
}

/// What a row is measured at.
struct RowShape {
  int micro_batch = 1;
  std::int64_t sequence = 128;
  int workers = 1;
  int tensor = 1;
  Recompute recompute = Recompute::kNone;
  std::int64_t chunk = 0;
};

Measurement measure(const SyntheticLayer& layer, int kind, const RowShape& shape,
                    const SyntheticOptions& options) {
  const double slowdown = shape.workers > 1 ? options.busy_slowdown : 1.0;
  const double share = shape.tensor == 1 ? 1.0 : 1.1 / shape.tensor;
  const double scale = (0.25 + 0.75 * shape.micro_batch) * slowdown * share *
                       static_cast<double>(shape.sequence) / 128.0;
  const std::int64_t samples = shape.micro_batch * shape.sequence / 128;
  const auto bytes = [&](std::int64_t of_sample) {
    return Bytes{of_sample * samples / shape.tensor};
  };
  Measurement row{.kind = kind,
                  .micro_batch = shape.micro_batch,
                  .sequence = shape.sequence,
                  .sharding = {.tensor = shape.tensor},
                  .recompute = shape.recompute,
                  .recompute_chunk = shape.chunk,
                  .concurrent_workers = shape.workers,
                  .forward = timing(layer.forward_s * scale),
                  .backward = timing(layer.backward_s * scale),
                  .backward_input = timing(0.55 * layer.backward_s * scale),
                  .backward_weight = timing(0.5 * layer.backward_s * scale),
                  .saved = bytes(layer.saved_bytes),
                  .forward_peak = bytes((layer.saved_bytes + layer.output_bytes) * 5 / 4),
                  .backward_peak = bytes(layer.saved_bytes / 2),
                  .weight_pending = bytes(layer.saved_bytes / 4),
                  .output = bytes(layer.output_bytes),
                  .stable = true};
  if (shape.tensor > 1) {
    const Bytes whole{layer.output_bytes * samples};
    row.collectives = {{.kind = CollectiveKind::kAllGather, .count = 1, .size = whole},
                       {.kind = CollectiveKind::kReduceScatter, .count = 2, .size = whole}};
  }
  return row;
}

/// The row of a layer that recomputes, from the one of the same shape that does not.
Measurement recomputed(Measurement row, const SyntheticLayer& layer, const RowShape& shape) {
  const bool full = shape.recompute == Recompute::kFull;
  const auto part = [&](Bytes whole, double kept) {
    return Bytes{std::llround(static_cast<double>(whole.count) * kept)};
  };
  const Bytes plain = row.saved;
  row.recompute = shape.recompute;
  row.recompute_chunk = shape.chunk;
  row.saved = part(plain, full ? layer.full_kept : layer.selective_kept);
  const std::int64_t tokens = shape.micro_batch * shape.sequence;
  const double held =
      shape.chunk == 0 ? 1.0
                       : 0.2 + 0.8 * static_cast<double>(shape.chunk) / static_cast<double>(tokens);
  row.backward_peak += part(plain - row.saved, held);
  const double more = full ? (shape.chunk == 0 ? 1.0 : 1.1) : layer.selective_added;
  row.recompute_extra = row.forward.median * more;
  row.backward.median += row.recompute_extra;
  row.backward_input.median += row.recompute_extra;
  return row;
}

/// Every row of one kind at one shape.
void add_rows(Profile& profile, const SyntheticLayer& layer, int kind, RowShape shape,
              const SyntheticOptions& options) {
  const Measurement plain = measure(layer, kind, shape, options);
  profile.measurements.push_back(plain);
  const auto add = [&](Recompute recompute, std::int64_t chunk) {
    shape.recompute = recompute;
    shape.chunk = chunk;
    profile.measurements.push_back(recomputed(plain, layer, shape));
  };
  if (layer.selective_kept < 1.0) add(Recompute::kSelective, 0);
  if (layer.full_kept >= 1.0) return;
  add(Recompute::kFull, 0);
  for (const std::int64_t chunk : options.chunks) {
    if (chunk < shape.micro_batch * shape.sequence) add(Recompute::kFull, chunk);
  }
}

LayerKind kind_named(const std::string& name, LayerRole role, std::int64_t parameter_bytes) {
  return {.name = name,
          .role = role,
          .parameters = {{.name = "weight", .shape = {parameter_bytes / 4}}},
          .program = {}};
}

}  // namespace

Profile profile_of(const Model& model, const std::vector<SyntheticLayer>& kinds,
                   const SyntheticOptions& options) {
  Profile profile;
  profile.tool_version = "test";
  profile.input_sha256 = std::string(64, '0');
  profile.model = model;
  profile.target_spread = 0.03;
  profile.kernels = {.torch = "2.11.0", .attention = "math", .blas = "mkl"};
  const std::set<int> workers{1, options.device_count};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const auto index = static_cast<int>(kind);
    for (const int worker_count : workers) {
      for (const int tensor : options.tensor_degrees) {
        for (const std::int64_t sequence : options.sequences) {
          for (const int micro_batch : options.micro_batches) {
            add_rows(profile, kinds[kind], index,
                     {.micro_batch = micro_batch,
                      .sequence = sequence,
                      .workers = worker_count,
                      .tensor = tensor},
                     options);
          }
        }
        profile.optimizer.push_back(
            {.kind = index,
             .sharding = {.tensor = tensor},
             .concurrent_workers = worker_count,
             .step = timing(kinds[kind].optimizer_s / tensor),
             .parameters = Bytes{kinds[kind].parameter_bytes / tensor},
             .gradients = Bytes{kinds[kind].parameter_bytes / tensor},
             .optimizer_state = Bytes{2 * kinds[kind].parameter_bytes / tensor}});
      }
    }
  }
  for (int device = 0; device < options.device_count; ++device) {
    const auto at = static_cast<std::size_t>(device);
    profile.devices.push_back(
        {.name = options.speeds.empty() ? "cpu" : fmt::format("device {}", device),
         .type = "cpu",
         .id = fmt::format("core {}", device),
         .memory = options.memories.empty() ? options.device_memory : options.memories[at],
         .speed = options.speeds.empty() ? 1.0 : options.speeds[at]});
  }
  Link link{.name = "loopback",
            .backend = "gloo",
            .latency = Seconds(options.latency_s),
            .bandwidth = BytesPerSecond{options.bytes_per_s},
            .fit_error = 0.0,
            .samples = {}};
  profile.links.push_back(link);
  if (options.between_slowdown != 1.0) {
    link.name = "network";
    link.scope = LinkScope::kBetween;
    link.latency *= options.between_slowdown;
    link.bandwidth.value /= options.between_slowdown;
    profile.links.push_back(link);
  }
  profile.cluster = options.cluster;
  profile.call_overhead = Seconds(options.call_overhead_s);
  profile.step_overhead = Seconds(options.step_overhead_s);
  return profile;
}

Profile synthetic_profile(const std::vector<SyntheticLayer>& layers,
                          const SyntheticOptions& options) {
  Model model;
  model.name = "synthetic";
  model.family = "llama";
  const auto last = static_cast<int>(layers.size()) - 1;
  for (int index = 0; index <= last; ++index) {
    const LayerRole role = index == 0      ? LayerRole::kEmbedding
                           : index == last ? LayerRole::kHead
                                           : LayerRole::kBlock;
    model.kinds.push_back(kind_named(fmt::format("kind{}", index), role,
                                     layers[static_cast<std::size_t>(index)].parameter_bytes));
    Layer& placed = model.layers.emplace_back();
    placed.prefix = fmt::format("layers.{}.", index);
    placed.kind = index;
    placed.frozen = std::ranges::find(options.frozen_layers, index) != options.frozen_layers.end();
  }
  if (options.tied_ends && last > 0) {
    model.layers.back().tied = {{.name = "weight", .owner = "layers.0.weight"}};
  }
  return profile_of(model, layers, options);
}

namespace {

/// Own arithmetic in place of std::uniform_real_distribution: the same chains with every library.
double draw(std::mt19937& random, double least, double most) {
  return least + (most - least) * static_cast<double>(random()) / 4294967296.0;
}

}  // namespace

std::vector<SyntheticLayer> recomputing(std::mt19937& random, std::vector<SyntheticLayer> layers) {
  for (SyntheticLayer& layer : layers) {
    if (draw(random, 0.0, 1.0) < 0.7) layer.full_kept = draw(random, 0.05, 0.4);
    if (draw(random, 0.0, 1.0) < 0.5) layer.selective_kept = draw(random, 0.5, 0.9);
    layer.selective_added = draw(random, 0.05, 0.4);
  }
  return layers;
}

std::vector<SyntheticLayer> random_layers(std::mt19937& random, int layer_count) {
  const auto uniform = [&](double least, double most) { return draw(random, least, most); };
  std::vector<SyntheticLayer> layers;
  for (int index = 0; index < layer_count; ++index) {
    const double weight = uniform(0.0, 1.0) < 0.2 ? uniform(3.0, 10.0) : uniform(0.2, 2.0);
    layers.push_back({.forward_s = 1e-3 * weight * uniform(0.7, 1.3),
                      .backward_s = 2e-3 * weight * uniform(0.7, 1.3),
                      .saved_bytes = std::llround(1000 * uniform(0.2, 3.0)),
                      .output_bytes = std::llround(1000 * uniform(0.05, 2.0)),
                      .parameter_bytes = 4 * std::llround(1000 * weight * uniform(0.5, 1.5)),
                      .optimizer_s = 2e-4 * weight * uniform(0.5, 1.5)});
  }
  return layers;
}

std::vector<SyntheticLayer> transformer_layers(int block_count) {
  std::vector<SyntheticLayer> layers(static_cast<std::size_t>(block_count) + 2);
  layers.front() = {.forward_s = 1e-4,
                    .backward_s = 2e-4,
                    .saved_bytes = 10,
                    .output_bytes = 100,
                    .parameter_bytes = 40000,
                    .optimizer_s = 1e-3};
  layers.back() = {.forward_s = 3e-3,
                   .backward_s = 6e-3,
                   .saved_bytes = 5000,
                   .output_bytes = 0,
                   .parameter_bytes = 40000,
                   .optimizer_s = 1e-3};
  return layers;
}

}  // namespace ppplan::testing
