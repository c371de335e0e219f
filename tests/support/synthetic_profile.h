// Profiles made up for tests: a chain of layers with given costs, no measuring.
#pragma once

#include "reports/documents/profile.h"

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace ppplan::testing {

/// Costs of one layer for one sample; a micro-batch of b samples takes (0.25 + 0.75 b) times as
/// long and b times the bytes. On t devices that share it, each has a t-th of the bytes and of 1.1
/// times the time, and gathers the input once and scatters the output once.
struct SyntheticLayer {
  double forward_s = 1e-3;
  double backward_s = 2e-3;
  std::int64_t saved_bytes = 1000;
  std::int64_t output_bytes = 100;
  std::int64_t parameter_bytes = 4000;  ///< gradients as much, optimizer state twice
  double optimizer_s = 1e-4;
  /// Of `saved_bytes`, what stays where it recomputes; 1: this layer does not.
  double selective_kept = 1.0;
  double full_kept = 1.0;
  double selective_added = 0.2;  ///< to the backward, of the forward's time
};

struct SyntheticOptions {
  int device_count = 4;
  Bytes device_memory{std::int64_t{1} << 40};
  std::vector<int> micro_batches = {1, 2, 4, 8};
  std::vector<std::int64_t> sequences = {128};
  double latency_s = 1e-4;
  double bytes_per_s = 1e7;
  double call_overhead_s = 0.0;
  double step_overhead_s = 0.0;
  double busy_slowdown = 1.0;  ///< of rows measured with every device's worker busy
  /// The last layer's weight is the first one's: its whole parameter.
  bool tied_ends = false;
  std::vector<int> tensor_degrees = {1};
  /// Full recompute also in pieces of so many tokens: a tenth slower, less held meanwhile.
  std::vector<std::int64_t> chunks = {};
  std::optional<Cluster> cluster = std::nullopt;
  double between_slowdown = 1.0;     ///< of a second link, between nodes; 1: none
  std::vector<double> speeds = {};   ///< by device; empty: all 1
  std::vector<Bytes> memories = {};  ///< by device; empty: device_memory
  std::vector<int> frozen_layers = {};
};

/// A real model with costs of the given kinds of layers, by the model's kinds.
Profile profile_of(const Model& model, const std::vector<SyntheticLayer>& kinds,
                   const SyntheticOptions& options = {});

/// One kind a layer: the first an embedding, the last a head, the others blocks.
Profile synthetic_profile(const std::vector<SyntheticLayer>& layers,
                          const SyntheticOptions& options = {});

/// The same chain, of whose layers most recompute.
std::vector<SyntheticLayer> recomputing(std::mt19937& random, std::vector<SyntheticLayer> layers);

/// Layers that differ in everything, a few of them far heavier than the others.
std::vector<SyntheticLayer> random_layers(std::mt19937& random, int layer_count);

/// An embedding, `block_count` equal blocks and a head that costs as much as three.
std::vector<SyntheticLayer> transformer_layers(int block_count);

}  // namespace ppplan::testing
