#include "tests/support/exhaustive_planner.h"

#include "planner/schedule/generators.h"
#include "planner/schedule/planned.h"
#include "planner/schedule/simulator.h"
#include "tests/support/every_cut.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

namespace ppplan::testing {
namespace {

using planner::ScheduleCosts;
using planner::StageCost;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// One layer, one micro-batch.
struct LayerFigures {
  double forward_s = 0.0;
  double backward_s = 0.0;
  std::int64_t saved = 0;
  std::int64_t forward_peak = 0;
  std::int64_t backward_peak = 0;
  std::int64_t output = 0;
};

/// What is decided before the cut.
struct Setup {
  Layout layout;
  int rank_count = 1;
  std::int64_t chunk = 0;
  std::int64_t sequence = 0;
  std::vector<int> sizes{};    ///< samples, by micro-batch
  std::vector<int> devices{};  ///< by rank
};

/// Costs of one setup.
class Costs {
 public:
  Costs(const Profile& profile, Setup setup) : profile_(profile), setup_(std::move(setup)) {
    classes_.push_back(setup_.sizes.front());
    if (setup_.sizes.back() != classes_.front()) classes_.push_back(setup_.sizes.back());
  }

  [[nodiscard]] const Setup& setup() const { return setup_; }
  [[nodiscard]] int layer_count() const { return static_cast<int>(profile_.model.layers.size()); }

  /// Sizes of micro-batches: the full one, and the last one's where it is smaller.
  [[nodiscard]] const std::vector<int>& classes() const { return classes_; }

  /// Empty where the layer does not recompute so.
  [[nodiscard]] const std::optional<LayerFigures>& layer(int index, int size,
                                                         Recompute recompute) const {
    std::vector<std::optional<LayerFigures>>& known = layers_[{size, recompute}];
    if (known.empty()) {
      for (int each = 0; each < layer_count(); ++each) {
        known.push_back(find_layer(each, size, recompute));
      }
    }
    return known[at(index)];
  }

  [[nodiscard]] std::int64_t boundary(int layer_at, int size) const {
    if (layer_at == 0 || layer_at == layer_count()) return 0;
    return layer(layer_at - 1, size, Recompute::kNone)->output;
  }

  /// A stage wherever it stands: its times, and its highest moments layer by layer.
  [[nodiscard]] StageCost stage(int first, int last, int size,
                                const std::vector<Recompute>& options) const {
    StageCost cost;
    std::int64_t level = 0;
    std::int64_t forward_peak = boundary(first, size);
    for (int index = first; index < last; ++index) {
      const LayerFigures& one = *layer(index, size, options[at(index)]);
      cost.forward += Seconds(one.forward_s);
      cost.backward += Seconds(one.backward_s);
      forward_peak = std::max(forward_peak, level + boundary(index, size) + one.forward_peak);
      level += one.saved;
    }
    cost.saved = Bytes{level};
    std::int64_t backward_peak = 0;
    for (int index = last - 1; index >= first; --index) {
      const LayerFigures& one = *layer(index, size, options[at(index)]);
      const std::int64_t incoming = boundary(index + 1, size) - boundary(last, size);
      backward_peak =
          std::max(backward_peak, level - cost.saved.count + incoming + one.backward_peak);
      level -= one.saved;
    }
    cost.forward_peak = Bytes{forward_peak};
    cost.backward_peak = Bytes{backward_peak};
    cost.output = Bytes{boundary(last, size)};
    return cost;
  }

  /// The stage as a rank has it.
  [[nodiscard]] StageCost placed(StageCost cost, int rank, int first, int last, int size) const {
    cost.forward /= speed(rank);
    cost.backward /= speed(rank);
    if (rank > 0) cost.send_gradient = Seconds(hop_s(rank - 1, rank, boundary(first, size)));
    if (rank + 1 < setup_.rank_count) {
      cost.send_activation = Seconds(hop_s(rank, rank + 1, boundary(last, size)));
    }
    return cost;
  }

  /// By class, for every choice of what the stage's layers recompute: the fastest first.
  [[nodiscard]] const std::vector<std::vector<StageCost>>& choices(int first, int last,
                                                                   Recompute most) const {
    const auto [known, fresh] = choices_.try_emplace(std::pair(first, last));
    std::vector<std::vector<StageCost>>& all = known->second;
    if (!fresh) return all;
    std::vector<Recompute> options(at(layer_count()), Recompute::kNone);
    const std::function<void(int)> choose = [&](int index) {
      if (index == last) {
        std::vector<StageCost>& classes = all.emplace_back();
        for (const int size : classes_) classes.push_back(stage(first, last, size, options));
        return;
      }
      for (const Recompute option : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        if (option > most || !layer(index, classes_.front(), option)) continue;
        options[at(index)] = option;
        choose(index + 1);
      }
    };
    choose(first);
    std::ranges::stable_sort(all, {}, [](const auto& classes) { return classes[0].backward; });
    return all;
  }

  [[nodiscard]] double speed(int rank) const {
    return profile_.devices[at(setup_.devices[at(rank)])].speed;
  }

  /// Parameters, gradients and optimizer state.
  [[nodiscard]] Bytes kept(int first, int last) const {
    std::int64_t state = 0;
    std::int64_t other = 0;
    for_each_tensor(first, last, [&](const OptimizerCost& row, bool frozen) {
      other += row.parameters.count + (frozen ? 0 : row.gradients.count);
      state += frozen ? 0 : row.optimizer_state.count;
    });
    const std::int64_t share = sharded() ? setup_.layout.data_parallel : 1;
    return Bytes{other + (state + share - 1) / share};
  }

  /// A rank's reduction, given whether the ends are tied and on different ranks.
  [[nodiscard]] double reduction_s(int first, int last) const {
    const Layer& end = profile_.model.layers.back();
    double time_s = 0.0;
    const bool holds_one = (first == 0) != (last == layer_count());
    if (!end.tied.empty() && holds_one && !profile_.model.layers.front().frozen) {
      time_s += hop_s(0, setup_.rank_count - 1, optimizer(0).gradients.count);
    }
    std::int64_t gradients = 0;
    for_each_tensor(first, last, [&](const OptimizerCost& row, bool frozen) {
      gradients += frozen ? 0 : row.gradients.count;
    });
    std::int64_t trained = 0;
    for_each_tensor(first, last, [&](const OptimizerCost& row, bool frozen) {
      trained += frozen ? 0 : row.parameters.count;
    });
    if (setup_.layout.data_parallel == 1 || gradients == 0) return time_s;
    if (!sharded()) return time_s + 2.0 * scatter_s(static_cast<double>(gradients));
    return time_s + scatter_s(static_cast<double>(gradients)) +
           scatter_s(static_cast<double>(trained));
  }

  [[nodiscard]] double optimizer_s(int rank, int first, int last) const {
    double time_s = 0.0;
    for_each_tensor(first, last, [&](const OptimizerCost& row, bool frozen) {
      time_s += frozen ? 0.0 : row.step.median.count();
    });
    return time_s / speed(rank) / (sharded() ? setup_.layout.data_parallel : 1);
  }

 private:
  [[nodiscard]] bool sharded() const {
    return setup_.layout.data_sharding == DataSharding::kOptimizer;
  }

  /// Of what a rank stores: a last layer tied to a first one on the same rank is stored once.
  template <typename Visit>
  void for_each_tensor(int first, int last, const Visit& visit) const {
    for (int index = first; index < last; ++index) {
      const Layer& layer = profile_.model.layers[at(index)];
      const OptimizerCost& row = optimizer(layer.kind);
      if (layer.tied.empty() || first > 0) {
        visit(row, layer.frozen);
        continue;
      }
      OptimizerCost rest = row;  // without the first layer's only tensor
      const OptimizerCost& shared = optimizer(profile_.model.layers.front().kind);
      rest.parameters -= shared.parameters;
      rest.gradients -= shared.gradients;
      rest.optimizer_state -= shared.optimizer_state;
      rest.step.median -= shared.step.median;
      visit(rest, layer.frozen);
    }
  }

  [[nodiscard]] int busy_workers() const {
    const int device_count = setup_.layout.device_count() * setup_.rank_count;
    return std::min(device_count, static_cast<int>(profile_.devices.size()));
  }

  /// Of measured numbers the least that is enough, else the largest.
  [[nodiscard]] int workers_like(const std::set<int>& measured) const {
    for (const int count : measured) {
      if (count >= busy_workers()) return count;
    }
    return *measured.rbegin();
  }

  [[nodiscard]] const OptimizerCost& optimizer(int kind) const {
    const auto known = optimizers_.find(kind);
    if (known != optimizers_.end()) return known->second;
    std::map<int, OptimizerCost> rows;
    std::set<int> measured;
    for (const OptimizerCost& row : profile_.optimizer) {
      if (row.kind != kind || row.sharding.tensor != setup_.layout.sharding.tensor) continue;
      rows.emplace(row.concurrent_workers, row);
      measured.insert(row.concurrent_workers);
    }
    return optimizers_.emplace(kind, rows.at(workers_like(measured))).first->second;
  }

  [[nodiscard]] LayerFigures figures(const Measurement& row) const {
    double traffic_s = 0.0;
    for (const Collective& one : row.collectives) {
      // Gathers and scatters inside a node, n - 1 times a latency and an n-th of the tensor.
      const int n = row.sharding.tensor;
      const Link& link = profile_.links.front();
      traffic_s +=
          one.count * (n - 1) *
          (link.latency.count() + static_cast<double>(one.size.count) / n / link.bandwidth.value);
    }
    const double back_s = traffic_s * (row.recompute == Recompute::kFull ? 2.0 : 1.0);
    return {.forward_s = row.forward.median.count() + traffic_s,
            .backward_s = row.backward.median.count() + back_s,
            .saved = row.saved.count,
            .forward_peak = row.forward_peak.count,
            .backward_peak = row.backward_peak.count,
            .output = row.output.count};
  }

  [[nodiscard]] std::optional<LayerFigures> find_layer(int index, int size,
                                                       Recompute recompute) const {
    const Layer& layer = profile_.model.layers[at(index)];
    std::map<int, LayerFigures> by_size;
    for (const std::int64_t chunk : {std::int64_t{0}, setup_.chunk}) {
      std::set<int> measured;
      const auto suits = [&](const Measurement& row) {
        return row.kind == layer.kind && row.sharding == setup_.layout.sharding &&
               row.recompute == recompute && row.recompute_chunk == chunk &&
               row.sequence == setup_.sequence;
      };
      for (const Measurement& row : profile_.measurements) {
        if (suits(row)) measured.insert(row.concurrent_workers);
      }
      for (const Measurement& row : profile_.measurements) {
        if (!suits(row) || row.concurrent_workers != workers_like(measured)) continue;
        LayerFigures one = figures(row);
        if (layer.frozen)
          one.backward_s += (row.backward_input.median - row.backward.median).count();
        by_size[row.micro_batch] = one;
      }
    }
    if (by_size.empty()) return std::nullopt;
    const auto high = by_size.lower_bound(size);
    if (high->first == size) return high->second;
    const auto low = std::prev(high);
    const double share = static_cast<double>(size - low->first) / (high->first - low->first);
    const auto mix = [&](auto LayerFigures::*field) {
      const auto from = low->second.*field;
      const auto change = static_cast<double>(high->second.*field - from) * share;
      if constexpr (std::is_integral_v<std::decay_t<decltype(from)>>) {
        return from + std::llround(change);
      } else {
        return from + change;
      }
    };
    return LayerFigures{.forward_s = mix(&LayerFigures::forward_s),
                        .backward_s = mix(&LayerFigures::backward_s),
                        .saved = mix(&LayerFigures::saved),
                        .forward_peak = mix(&LayerFigures::forward_peak),
                        .backward_peak = mix(&LayerFigures::backward_peak),
                        .output = mix(&LayerFigures::output)};
  }

  /// Number of a device of the cluster.
  [[nodiscard]] int place(int pipeline, int rank, int device) const {
    const Layout& layout = setup_.layout;
    const int unit = layout.order == DeviceOrder::kDataInside
                         ? rank * layout.data_parallel + pipeline
                         : pipeline * setup_.rank_count + rank;
    return unit * layout.sharding.tensor + device;
  }
  [[nodiscard]] int node_of(int device) const {
    const int per_node =
        profile_.cluster ? profile_.cluster->devices_per_node : std::numeric_limits<int>::max();
    return device / per_node;
  }

  [[nodiscard]] double hop_s(int from, int to, std::int64_t bytes) const {
    bool between = false;
    for (int pipeline = 0; pipeline < setup_.layout.data_parallel; ++pipeline) {
      for (int device = 0; device < setup_.layout.sharding.tensor; ++device) {
        between |= node_of(place(pipeline, from, device)) != node_of(place(pipeline, to, device));
      }
    }
    const Link& link = between ? profile_.links.back() : profile_.links.front();
    return link.latency.count() + static_cast<double>(bytes) / link.bandwidth.value;
  }

  /// Reduce-scatter over the pipelines, or the gather that goes with it: inside nodes, then each
  /// device with its share between them.
  [[nodiscard]] double scatter_s(double bytes) const {
    std::size_t nodes = 1;
    for (int rank = 0; rank < setup_.rank_count; ++rank) {
      std::set<int> touched;
      for (int pipeline = 0; pipeline < setup_.layout.data_parallel; ++pipeline) {
        touched.insert(node_of(place(pipeline, rank, 0)));
      }
      nodes = std::max(nodes, touched.size());
    }
    const auto ring_s = [](double ring_bytes, int count, const Link& link) {
      return (count - 1) * (link.latency.count() + ring_bytes / count / link.bandwidth.value);
    };
    const auto node_count = static_cast<int>(nodes);
    const int inside = (setup_.layout.data_parallel + node_count - 1) / node_count;
    const int outside = (setup_.layout.data_parallel + inside - 1) / inside;
    return ring_s(bytes, inside, profile_.links.front()) +
           ring_s(bytes / inside, outside, profile_.links.back());
  }

  const Profile& profile_;
  Setup setup_;
  std::vector<int> classes_;
  mutable std::map<std::pair<int, Recompute>, std::vector<std::optional<LayerFigures>>> layers_;
  mutable std::map<std::pair<int, int>, std::vector<std::vector<StageCost>>> choices_;
  mutable std::map<int, OptimizerCost> optimizers_;
};

planner::Schedule schedule_of(const std::string& name, const Setup& setup) {
  return std::get<planner::Schedule>(planner::make_schedule(
      name,
      {.rank_count = setup.rank_count, .micro_batch_count = static_cast<int>(setup.sizes.size())}));
}

ScheduleCosts empty_costs(const Profile& profile, const Setup& setup) {
  ScheduleCosts costs{
      .stages = {}, .class_of_micro_batch = {}, .call_overhead = profile.call_overhead};
  costs.stages.resize(at(setup.rank_count));
  for (const int size : setup.sizes) {
    costs.class_of_micro_batch.push_back(size == setup.sizes.front() ? 0 : 1);
  }
  return costs;
}

/// Beside the makespan.
double rest_of_step_s(const Profile& profile, const Costs& costs, const std::vector<int>& cut) {
  double reduction_s = 0.0;
  double optimizer_s = 0.0;
  for (int rank = 0; rank < costs.setup().rank_count; ++rank) {
    const int first = cut[at(rank)];
    const int last = cut[at(rank) + 1];
    reduction_s = std::max(reduction_s, costs.reduction_s(first, last));
    optimizer_s = std::max(optimizer_s, costs.optimizer_s(rank, first, last));
  }
  return reduction_s + optimizer_s + profile.step_overhead.count();
}

/// Everything of one setup and schedule.
class ScheduleSearch {
 public:
  ScheduleSearch(const Profile& profile, const Costs& costs, const std::string& schedule,
                 std::vector<Bytes> allowed, Recompute most)
      : profile_(profile),
        costs_(costs),
        schedule_(schedule_of(schedule, costs.setup())),
        allowed_(std::move(allowed)),
        most_(most) {}

  Seconds best() {
    double best_s = std::numeric_limits<double>::infinity();
    for_each_cut(costs_.layer_count(), costs_.setup().rank_count, [&](const std::vector<int>& cut) {
      ScheduleCosts made = empty_costs(profile_, costs_.setup());
      std::vector<const Front*> fronts;
      for (int rank = 0; rank < costs_.setup().rank_count; ++rank) {
        fronts.push_back(&front(rank, cut[at(rank)], cut[at(rank) + 1]));
        if (fronts.back()->empty()) return;
      }
      const double rest_s = rest_of_step_s(profile_, costs_, cut);
      const std::function<void(std::size_t)> choose = [&](std::size_t rank) {
        if (rank == fronts.size()) {
          best_s = std::min(best_s, planner::makespan(schedule_, made).count() + rest_s);
          return;
        }
        for (const std::vector<StageCost>& classes : *fronts[rank]) {
          made.stages[rank] = classes;
          choose(rank + 1);
        }
      };
      choose(0);
    });
    return Seconds(best_s);
  }

 private:
  /// Costs of a stage's choices that fit, none of them faster than another in everything.
  using Front = std::vector<std::vector<StageCost>>;

  static bool no_slower(const std::vector<StageCost>& a, const std::vector<StageCost>& b) {
    for (std::size_t index = 0; index < a.size(); ++index) {
      if (a[index].forward > b[index].forward || a[index].backward > b[index].backward) {
        return false;
      }
    }
    return true;
  }

  const Front& front(int rank, int first, int last) {
    const auto [known, fresh] = fronts_.try_emplace(std::tuple(rank, first, last));
    if (!fresh) return known->second;
    Front& front = known->second;
    ScheduleCosts alone = empty_costs(profile_, costs_.setup());
    for (std::vector<StageCost>& classes : alone.stages) classes.resize(costs_.classes().size());
    if (rank > 0) {
      for (std::size_t index = 0; index < costs_.classes().size(); ++index) {
        alone.stages[at(rank) - 1][index].output =
            Bytes{costs_.boundary(first, costs_.classes()[index])};
      }
    }
    const Bytes kept = costs_.kept(first, last);
    for (const std::vector<StageCost>& choice : costs_.choices(first, last, most_)) {
      const bool beaten = std::ranges::any_of(
          front, [&](const std::vector<StageCost>& other) { return no_slower(other, choice); });
      if (beaten) continue;
      alone.stages[at(rank)] = choice;
      if (kept + planner::memory_peak(schedule_, alone, rank).total() > allowed_[at(rank)])
        continue;
      front.push_back(choice);
      if (choice.size() == 1) break;  // the rest is slower
    }
    for (std::vector<StageCost>& choice : front) {
      for (std::size_t index = 0; index < choice.size(); ++index) {
        choice[index] = costs_.placed(choice[index], rank, first, last, costs_.classes()[index]);
      }
    }
    return front;
  }

  const Profile& profile_;
  const Costs& costs_;
  planner::Schedule schedule_;
  std::vector<Bytes> allowed_;
  Recompute most_;
  std::map<std::tuple<int, int, int>, Front> fronts_;
};

/// Micro-batch sizes of a pipeline's batch: within what was measured, and so the last one.
std::vector<std::vector<int>> batch_splits(int batch, const std::set<int>& measured,
                                           bool several_pipelines) {
  std::vector<std::vector<int>> splits;
  bool any_even = false;
  for (int size = *measured.begin(); size <= std::min(batch, *measured.rbegin()); ++size) {
    std::vector<int> sizes(at(batch / size), size);
    if (batch % size != 0) sizes.push_back(batch % size);
    if (sizes.back() < *measured.begin()) continue;
    any_even |= batch % size == 0;
    splits.push_back(std::move(sizes));
  }
  if (several_pipelines && any_even) {
    std::erase_if(splits, [](const auto& sizes) { return sizes.back() != sizes.front(); });
  }
  return splits;
}

std::vector<Setup> layouts_of(const Profile& profile, const planner::PartitionOptions& options) {
  const auto layer_count = static_cast<int>(profile.model.layers.size());
  std::vector<Setup> setups;
  if (!profile.cluster) {
    std::vector<int> order(profile.devices.size());
    std::iota(order.begin(), order.end(), 0);
    std::set<std::vector<int>> seen;
    do {
      std::vector<int> devices(order.begin(), order.begin() + *options.stage_count);
      if (!seen.insert(devices).second) continue;
      setups.push_back({.layout = {}, .rank_count = *options.stage_count, .devices = devices});
      const bool alike = std::ranges::all_of(profile.devices, [&](const Device& device) {
        return device.speed == profile.devices.front().speed &&
               device.memory == profile.devices.front().memory;
      });
      if (alike) break;
    } while (std::ranges::next_permutation(order).found);
    return setups;
  }
  const int device_count = options.device_count.value_or(profile.cluster->device_count());
  std::set<int> degrees;
  for (const Measurement& row : profile.measurements) degrees.insert(row.sharding.tensor);
  for (const int tensor : degrees) {
    for (int ranks = 1; ranks <= std::min(layer_count, device_count / tensor); ++ranks) {
      int pipelines = device_count / tensor / ranks;
      while (pipelines > options.global_batch || options.global_batch % pipelines != 0) --pipelines;
      const int per_node = profile.cluster->devices_per_node;
      if (pipelines * ranks * tensor > per_node && per_node % tensor != 0) continue;
      for (const DataSharding sharded : {DataSharding::kNone, DataSharding::kOptimizer}) {
        for (const DeviceOrder order : {DeviceOrder::kDataInside, DeviceOrder::kPipelineInside}) {
          const bool alike = pipelines == 1 &&
                             (sharded != DataSharding::kNone || order != DeviceOrder::kDataInside);
          if (alike) continue;
          setups.push_back({.layout = {.sharding = {.tensor = tensor},
                                       .data_parallel = pipelines,
                                       .data_sharding = sharded,
                                       .order = order},
                            .rank_count = ranks,
                            .devices = std::vector<int>(at(ranks), 0)});
        }
      }
    }
  }
  return setups;
}

}  // namespace

Judged judge(const Profile& profile, const Plan& plan) {
  Setup setup{.layout = plan.layout,
              .rank_count = static_cast<int>(plan.stages.size()),
              .chunk = plan.recompute_chunk,
              .sequence = plan.constraints.sequence,
              .sizes = plan.micro_batches};
  for (const PlanRank& rank : plan.ranks) {
    const auto found = std::ranges::find(profile.devices, rank.device, &Device::name);
    setup.devices.push_back(static_cast<int>(found - profile.devices.begin()));
  }
  const Costs costs(profile, std::move(setup));
  ScheduleCosts made = empty_costs(profile, costs.setup());
  std::vector<int> cut{0};
  std::vector<Recompute> options;
  for (const PlanStage& stage : plan.stages) {
    cut.push_back(cut.back() + stage.layer_count);
    for (const RecomputeRun& run : stage.recompute) {
      options.insert(options.end(), at(run.layer_count), run.recompute);
    }
    options.resize(at(cut.back()), Recompute::kNone);
  }
  for (int rank = 0; rank < costs.setup().rank_count; ++rank) {
    const int first = cut[at(rank)];
    const int last = cut[at(rank) + 1];
    for (const int size : costs.classes()) {
      made.stages[at(rank)].push_back(
          costs.placed(costs.stage(first, last, size, options), rank, first, last, size));
    }
  }
  const planner::Schedule schedule = planner::planned_schedule(plan);
  Judged judged{.step = planner::simulate(schedule, made).makespan +
                        Seconds(rest_of_step_s(profile, costs, cut)),
                .needed = {}};
  const std::vector<planner::RankMemory> peaks = planner::memory_peaks(schedule, made);
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    judged.needed.push_back(costs.kept(cut[rank], cut[rank + 1]) + peaks[rank].total());
  }
  return judged;
}

Seconds exhaustive(const Profile& profile, const planner::PartitionOptions& options) {
  std::set<std::int64_t> chunks{0};
  std::set<int> measured;
  for (const Measurement& row : profile.measurements) {
    chunks.insert(row.recompute_chunk);
    measured.insert(row.micro_batch);
  }
  Seconds best{std::numeric_limits<double>::infinity()};
  for (Setup setup : layouts_of(profile, options)) {
    setup.sequence = profile.measurements.front().sequence;
    const int batch = static_cast<int>(options.global_batch) / setup.layout.data_parallel;
    std::vector<Bytes> allowed;
    for (const int device : setup.devices) {
      allowed.push_back(options.memory.value_or(profile.devices[at(device)].memory) -
                        options.reserve);
    }
    for (std::vector<int>& sizes : batch_splits(batch, measured, setup.layout.data_parallel > 1)) {
      setup.sizes = std::move(sizes);
      for (const std::int64_t chunk : chunks) {
        if (chunk > 0 && chunk >= setup.sizes.front() * setup.sequence) continue;
        setup.chunk = chunk;
        const Costs costs(profile, setup);
        for (const std::string& name : options.schedules) {
          best = std::min(best,
                          ScheduleSearch(profile, costs, name, allowed, options.recompute).best());
        }
      }
    }
  }
  return best;
}

}  // namespace ppplan::testing
