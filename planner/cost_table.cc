#include "planner/cost_table.h"

#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace ppplan::planner {
namespace {

/// Measured costs of one kind: sequence -> micro-batch -> cost.
using Grid = std::map<std::int64_t, std::map<int, LayerCost>>;

Seconds between(Seconds low, Seconds high, double share) {
  return low + (high - low) * share;
}

Bytes between(Bytes low, Bytes high, double share) {
  return low + Bytes{std::llround(static_cast<double>((high - low).count) * share)};
}

LayerCost between(const LayerCost& low, const LayerCost& high, double share) {
  const auto mix = [&](auto LayerCost::*field) { return between(low.*field, high.*field, share); };
  return {.forward = mix(&LayerCost::forward),
          .backward = mix(&LayerCost::backward),
          .backward_input = mix(&LayerCost::backward_input),
          .backward_weight = mix(&LayerCost::backward_weight),
          .saved = mix(&LayerCost::saved),
          .forward_peak = mix(&LayerCost::forward_peak),
          .backward_peak = mix(&LayerCost::backward_peak),
          .weight_pending = mix(&LayerCost::weight_pending),
          .output = mix(&LayerCost::output)};
}

/// The cost at `at`, which lies within the keys of `row`.
LayerCost interpolate(const std::map<int, LayerCost>& row, int at) {
  const auto high = row.lower_bound(at);
  assert(high != row.end());
  if (high->first == at) return high->second;
  assert(high != row.begin());
  const auto low = std::prev(high);
  const double share = static_cast<double>(at - low->first) / (high->first - low->first);
  return between(low->second, high->second, share);
}

[[noreturn]] void fail_missing(const std::string& what, const std::string& kind) {
  throw Error(Failure::kBadInput, fmt::format("the profile has {} of '{}'", what, kind),
              "profile the model again");
}

/// The rows of one kind that a table may use.
struct RowFilter {
  int kind = 0;
  Sharding sharding;
  Recompute recompute = Recompute::kNone;
  std::int64_t chunk = 0;

  [[nodiscard]] bool operator()(const Measurement& row) const {
    return row.kind == kind && row.sharding == sharding && row.recompute == recompute &&
           row.recompute_chunk == chunk;
  }
};

/// The measured number of busy workers that stands for `wanted`.
int nearest_workers(const std::set<int>& measured, int wanted) {
  const auto at_least = measured.lower_bound(wanted);
  return at_least != measured.end() ? *at_least : *measured.rbegin();
}

template <typename Row, typename Fits>
std::optional<int> workers_of(const std::vector<Row>& rows, int wanted, Fits fits) {
  std::set<int> measured;
  for (const Row& row : rows) {
    if (fits(row)) measured.insert(row.concurrent_workers);
  }
  if (measured.empty()) return std::nullopt;
  return nearest_workers(measured, wanted);
}

/// Times with the traffic that goes with them: forward once, backward once more, and what a full
/// recompute repeats.
LayerCost cost_of(const Measurement& row, const Network& network, const Geometry& geometry) {
  Seconds traffic{0};
  for (const Collective& one : row.collectives) {
    traffic += network.collective(one.kind, one.size, geometry.group(one.group)) * one.count;
  }
  const Seconds back = traffic * (row.recompute == Recompute::kFull ? 2.0 : 1.0);
  return {.forward = row.forward.median + traffic,
          .backward = row.backward.median + back,
          .backward_input = row.backward_input.median + back,
          .backward_weight = row.backward_weight.median,
          .saved = row.saved,
          .forward_peak = row.forward_peak,
          .backward_peak = row.backward_peak,
          .weight_pending = row.weight_pending,
          .output = row.output};
}

template <typename CostOf>
Grid grid_of(const Profile& profile, const RowFilter& fits, int worker_count,
             const CostOf& cost_of) {
  Grid grid;
  const std::optional<int> workers = workers_of(profile.measurements, worker_count, fits);
  for (const Measurement& row : profile.measurements) {
    if (!workers || !fits(row) || row.concurrent_workers != *workers) continue;
    grid[row.sequence][row.micro_batch] = cost_of(row);
  }
  return grid;
}

/// Recomputing takes no less time than not to.
LayerCost no_faster(LayerCost cost, const LayerCost& plain) {
  cost.forward = std::max(cost.forward, plain.forward);
  cost.backward = std::max(cost.backward, plain.backward);
  cost.backward_input = std::max(cost.backward_input, plain.backward_input);
  const Seconds halves = std::min(plain.backward, plain.backward_input + plain.backward_weight);
  cost.backward_weight = std::max(cost.backward_weight, halves - cost.backward_input);
  return cost;
}

/// One row of the grid at `sequence`, itself interpolated where that was not measured; empty where
/// nothing was measured around it.
std::map<int, LayerCost> row_at(const Grid& grid, std::int64_t sequence) {
  if (const auto exact = grid.find(sequence); exact != grid.end()) return exact->second;
  const auto high = grid.upper_bound(sequence);
  if (high == grid.end() || high == grid.begin()) return {};
  const auto low = std::prev(high);
  const double share =
      static_cast<double>(sequence - low->first) / static_cast<double>(high->first - low->first);
  const int least = std::max(low->second.begin()->first, high->second.begin()->first);
  const int most = std::min(low->second.rbegin()->first, high->second.rbegin()->first);
  std::map<int, LayerCost> row;
  for (const auto* side : {&low->second, &high->second}) {
    for (const auto& [micro_batch, cost] : *side) {
      if (micro_batch < least || micro_batch > most) continue;
      row[micro_batch] = between(interpolate(low->second, micro_batch),
                                 interpolate(high->second, micro_batch), share);
    }
  }
  return row;
}

/// Why row_at is empty.
[[noreturn]] void fail_row(const Grid& grid, std::int64_t sequence, const std::string& kind) {
  if (grid.empty()) fail_missing("no measurements", kind);
  const std::string hint =
      fmt::format("measure it: ppplan profile ... --sequence-lengths {}", sequence);
  const std::int64_t least = grid.begin()->first;
  const std::int64_t most = grid.rbegin()->first;
  if (sequence < least || sequence > most) {
    throw Error(Failure::kBadInput,
                fmt::format("sequence {} is outside what the profile measured for '{}': {} to {}",
                            sequence, kind, least, most),
                hint);
  }
  const auto high = grid.upper_bound(sequence);
  throw Error(Failure::kBadInput,
              fmt::format("no micro-batch size of '{}' was measured at both sequence {} and {}",
                          kind, std::prev(high)->first, high->first),
              hint);
}

OptimizerCost optimizer_of(const Profile& profile, int kind, const Sharding& sharding,
                           int worker_count) {
  const auto fits = [&](const OptimizerCost& row) {
    return row.kind == kind && row.sharding.tensor == sharding.tensor &&
           row.sharding.expert == sharding.expert;
  };
  const std::optional<int> workers = workers_of(profile.optimizer, worker_count, fits);
  for (const OptimizerCost& row : profile.optimizer) {
    if (fits(row) && row.concurrent_workers == *workers) return row;
  }
  const LayerKind& layer_kind = profile.model.kinds[static_cast<std::size_t>(kind)];
  if (!layer_kind.parameters.empty()) fail_missing("no optimizer's cost", layer_kind.name);
  return {};
}

}  // namespace

CostTable::CostTable(const Profile& profile, const RowChoice& rows, const Network& network,
                     const Geometry& geometry)
    : optimizer_(profile.model.kinds.size()), micro_batches_{1, std::numeric_limits<int>::max()} {
  costs_.fill(std::vector<Row>(profile.model.kinds.size()));
  const int device_count = std::max(1, static_cast<int>(profile.devices.size()));
  const int worker_count = std::min(rows.device_count, device_count);
  const auto priced = [&](const Measurement& row) {
    const LayerCost cost = cost_of(row, network, geometry);
    if (!rows.forward_only) return cost;
    return LayerCost{
        .forward = cost.forward, .forward_peak = cost.forward_peak, .output = cost.output};
  };
  std::set<int> kinds;
  for (const Layer& layer : profile.model.layers) kinds.insert(layer.kind);
  for (const int kind : kinds) {
    const auto index = static_cast<std::size_t>(kind);
    const std::string& name = profile.model.kinds[index].name;
    for (std::size_t option = 0; option < kRecomputeCount; ++option) {
      RowFilter filter{kind, rows.sharding, static_cast<Recompute>(option), rows.recompute_chunk};
      Grid grid = grid_of(profile, filter, worker_count, priced);
      filter.chunk = 0;
      if (rows.recompute_chunk != 0) {  // a piece as long as the micro-batch has no row of its own
        for (const auto& [sequence, row] : grid_of(profile, filter, worker_count, priced)) {
          for (const auto& [micro_batch, cost] : row) grid[sequence].try_emplace(micro_batch, cost);
        }
      }
      costs_[option][index] = row_at(grid, rows.sequence);
      if (costs_.front()[index].empty()) fail_row(grid, rows.sequence, name);
    }
    const Row& row = costs_.front()[index];
    micro_batches_.least = std::max<std::int64_t>(micro_batches_.least, row.begin()->first);
    micro_batches_.most = std::min<std::int64_t>(micro_batches_.most, row.rbegin()->first);
    OptimizerCost& kept = optimizer_[index];
    kept = optimizer_of(profile, kind, rows.sharding, worker_count);
    if (rows.forward_only) {
      kept.step = {};
      kept.gradients = kept.optimizer_state = Bytes{0};
    }
  }
}

LayerCost CostTable::layer(int kind, int micro_batch, Recompute recompute) const {
  const auto index = static_cast<std::size_t>(kind);
  const LayerCost plain = interpolate(costs_.front()[index], micro_batch);
  if (recompute == Recompute::kNone) return plain;
  const Row& row = costs_[static_cast<std::size_t>(recompute)][index];
  const bool covered =
      !row.empty() && row.begin()->first <= micro_batch && micro_batch <= row.rbegin()->first;
  return covered ? no_faster(interpolate(row, micro_batch), plain) : plain;
}

const OptimizerCost& CostTable::optimizer(int kind) const {
  return optimizer_[static_cast<std::size_t>(kind)];
}

std::vector<std::int64_t> measured_sequences(const Profile& profile) {
  std::set<std::int64_t> sequences;
  for (const Measurement& row : profile.measurements) {
    sequences.insert(row.sequence);
  }
  return {sequences.begin(), sequences.end()};
}

std::vector<int> measured_micro_batches(const Profile& profile) {
  std::set<int> sizes;
  for (const Measurement& row : profile.measurements) {
    sizes.insert(row.micro_batch);
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace ppplan::planner
