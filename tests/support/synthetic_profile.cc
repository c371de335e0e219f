#include "tests/support/synthetic_profile.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <set>
#include <string>

namespace ppplan::testing {
namespace {

Timing timing(double seconds) {
  return {.median = Seconds(seconds), .spread = 0.01, .repeats = 10};
}

Measurement measure(const SyntheticLayer& layer, int kind, int micro_batch, std::int64_t sequence,
                    int workers, const SyntheticOptions& options) {
  const double slowdown = workers > 1 ? options.busy_slowdown : 1.0;
  const double scale =
      (0.25 + 0.75 * micro_batch) * slowdown * static_cast<double>(sequence) / 128.0;
  const std::int64_t samples = micro_batch * sequence / 128;
  return {.kind = kind,
          .micro_batch = micro_batch,
          .sequence = sequence,
          .concurrent_workers = workers,
          .forward = timing(layer.forward_s * scale),
          .backward = timing(layer.backward_s * scale),
          .backward_input = timing(0.55 * layer.backward_s * scale),
          .backward_weight = timing(0.5 * layer.backward_s * scale),
          .recompute_extra = Seconds(layer.forward_s * scale),
          .saved = Bytes{layer.saved_bytes * samples},
          .forward_peak = Bytes{(layer.saved_bytes + layer.output_bytes) * 5 / 4 * samples},
          .backward_peak = Bytes{layer.saved_bytes / 2 * samples},
          .weight_pending = Bytes{layer.saved_bytes / 4 * samples},
          .output = Bytes{layer.output_bytes * samples},
          .stable = true};
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
      for (const std::int64_t sequence : options.sequences) {
        for (const int micro_batch : options.micro_batches) {
          profile.measurements.push_back(
              measure(kinds[kind], index, micro_batch, sequence, worker_count, options));
        }
      }
      profile.optimizer.push_back({.kind = index,
                                   .concurrent_workers = worker_count,
                                   .step = timing(kinds[kind].optimizer_s),
                                   .parameters = Bytes{kinds[kind].parameter_bytes},
                                   .gradients = Bytes{kinds[kind].parameter_bytes},
                                   .optimizer_state = Bytes{2 * kinds[kind].parameter_bytes}});
    }
  }
  for (int device = 0; device < options.device_count; ++device) {
    profile.devices.push_back({.name = "cpu",
                               .type = "cpu",
                               .id = fmt::format("core {}", device),
                               .memory = options.device_memory});
  }
  profile.links.push_back({.name = "loopback",
                           .backend = "gloo",
                           .latency = Seconds(options.latency_s),
                           .bandwidth = BytesPerSecond{options.bytes_per_s},
                           .fit_error = 0.0,
                           .samples = {}});
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
  }
  if (options.tied_ends && last > 0) {
    model.layers.back().tied = {{.name = "weight", .owner = "layers.0.weight"}};
  }
  return profile_of(model, layers, options);
}

std::vector<SyntheticLayer> random_layers(std::mt19937& random, int layer_count) {
  // Own arithmetic in place of std::uniform_real_distribution: the same chains with every library.
  const auto uniform = [&](double least, double most) {
    return least + (most - least) * static_cast<double>(random()) / 4294967296.0;
  };
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
