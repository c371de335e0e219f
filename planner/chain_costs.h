// What any run of layers costs as a stage, in constant time from prefix sums: its times, its
// memory, its parameters. The one place that composes layers into stages.
#pragma once

#include "planner/batch.h"
#include "planner/cost_table.h"
#include "planner/network.h"
#include "planner/range_maximum.h"
#include "planner/schedule/simulator.h"
#include "planner/shared_tensors.h"
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace ppplan::planner {

/// Where a chain is cut: stage s is layers [cut[s], cut[s + 1]). Rises, starts with 0, ends with
/// the number of layers. The first and the last stage hold a layer (tokens and labels enter there),
/// a stage between them may be empty: it passes tensors on.
using Cut = std::vector<int>;

/// Layers [first, last).
struct LayerRun {
  int first = 0;
  int last = 0;
};

/// Layers [first, last) that recompute alike.
struct RecomputedRun {
  int first = 0;
  int last = 0;
  Recompute recompute = Recompute::kNone;
  /// With full recompute: so many layers keep one input together and are computed again at once.
  int segment = 1;
  bool operator==(const RecomputedRun&) const = default;
};
/// What each layer of a stage recomputes: runs that cover it in order. Empty: nothing.
using RecomputeChoice = std::vector<RecomputedRun>;

/// The devices that hold the same parameters, what they divide, and where ranks stand.
struct Replicas {
  DeviceGroup group;
  DataSharding sharding = DataSharding::kNone;
  Geometry geometry = Geometry({}, 1, std::numeric_limits<int>::max());
};

/// Parameters and what training keeps beside them, on one rank.
struct StaticMemory {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer_state;
  Bytes updated;  ///< of the parameters: those that are trained
  [[nodiscard]] Bytes total() const { return parameters + gradients + optimizer_state; }
};

/// Costs of runs of layers [first, last) of one model for one batch split. All queries O(1) plus
/// the number of shared tensors. Where nothing else is said, nothing is recomputed.
class ChainCosts {
 public:
  /// Of micro-batches of these sizes (samples), by class.
  /// Precondition: every one is within costs.micro_batches().
  ChainCosts(const Profile& profile, const CostTable& costs, const std::vector<int>& class_sizes,
             const Network& network, const Replicas& replicas = {});
  ChainCosts(const Profile& profile, const CostTable& costs, const BatchSplit& batch)
      : ChainCosts(profile, costs, batch.class_size, Network(profile)) {}

  /// The same layers where each is held by several devices. O(1).
  /// Precondition: neither divides parameters; those are fetched layer by layer, which is in the
  /// layers' times.
  [[nodiscard]] ChainCosts replicated(const Replicas& replicas) const {
    ChainCosts costs = *this;
    costs.replicas_ = replicas;
    return costs;
  }

  [[nodiscard]] int layer_count() const { return sums_->layer_count; }
  [[nodiscard]] int class_count() const {
    return static_cast<int>(sums_->classes.size() / kRecomputeCount);
  }

  /// Sums of the layers' times for a micro-batch of a class. The per-call overhead is not in them.
  [[nodiscard]] Seconds forward(int first, int last, int class_index) const;
  [[nodiscard]] Seconds backward(int first, int last, int class_index) const;
  /// The least any schedule spends: input and weight gradients apart where that is faster.
  [[nodiscard]] Seconds least_backward(int first, int last, int class_index) const;
  [[nodiscard]] Seconds backward_input(int first, int last, int class_index) const;
  /// The boundary tensor before layer `at`, and its transfer; 0 at both ends of the chain.
  [[nodiscard]] Bytes boundary(int at, int class_index) const;
  [[nodiscard]] Seconds transfer(int at, int class_index, LinkScope scope) const;
  /// The fastest transfer over all inner boundaries.
  [[nodiscard]] Seconds least_transfer(int class_index, LinkScope scope) const;
  /// Wherever the ranks stand.
  [[nodiscard]] Seconds least_transfer(int class_index) const {
    return std::min(least_transfer(class_index, LinkScope::kInside),
                    least_transfer(class_index, LinkScope::kBetween));
  }

  /// What recomputing so adds to one layer's backward for a micro-batch of class 0.
  [[nodiscard]] Seconds added(int layer, Recompute recompute) const;
  /// What it does not keep then, from forward to backward, of one micro-batch of class 0.
  [[nodiscard]] Bytes freed(int layer, Recompute recompute) const;
  /// Whether recomputing so changes anything about a layer.
  [[nodiscard]] bool offers(int layer, Recompute recompute) const;
  /// A number that equal layers (of one kind, frozen alike, sharing no tensor) share.
  [[nodiscard]] int alike(int layer) const { return sums_->alike[static_cast<std::size_t>(layer)]; }

  /// The simulator's view of the stage, its transfers inside a node. Memory is composed layer by
  /// layer, by the conventions of Measurement: a layer's `saved` holds its input where it keeps it,
  /// never its output.
  ///   saved:         sum of saved
  ///   forward peak:  max over l of (saved of the layers before l + l's input + forward_peak(l))
  ///   backward peak: max over l of (backward_peak(l) - saved of the layers after l, given back by
  ///                  then, + l's incoming gradient - the stage's incoming gradient)
  /// The stage's incoming gradient is a buffer of the schedule, there from the start and replaced
  /// by the gradients inside the stage. An empty stage passes on what it receives.
  [[nodiscard]] StageCost stage(int first, int last, int class_index) const;
  [[nodiscard]] StageCost stage(int first, int last, int class_index,
                                const RecomputeChoice& choice) const;

  /// Of a rank with these runs of layers: a tensor that they share is there once. O(runs).
  [[nodiscard]] StaticMemory static_memory(std::span<const LayerRun> runs) const;
  [[nodiscard]] StaticMemory static_memory(int first, int last) const;
  [[nodiscard]] Seconds optimizer(std::span<const LayerRun> runs) const;
  [[nodiscard]] Seconds optimizer(int first, int last) const;

  /// Time of reducing gradients by rank: of shared tensors, where with n ranks holding one each
  /// sends it and receives it n - 1 times (between nodes when any two of them stand so), then of
  /// all parameters, as replica_reduction says. O(stages x shared tensors).
  [[nodiscard]] std::vector<Seconds> reduction(const Cut& cut,
                                               const std::vector<int>& rank_of_stage) const;
  /// In every cut with a stage [first, last) the slowest rank's reduction takes at least this,
  /// where every stage stands on a rank of its own. So that it never falls when `last` rises, a
  /// boundary at `last` counts only between a tensor's users of which one is the last layer (a head
  /// tied to the embedding).
  [[nodiscard]] Seconds least_reduction(int first, int last) const;
  /// Time in which the devices that hold the same parameters add their gradients; with a sharded
  /// optimizer they gather the trained parameters afterwards. Nothing else goes on meanwhile.
  [[nodiscard]] Seconds replica_reduction(const StaticMemory& kept) const;

 private:
  /// Prefix sums over layers for one class and recompute option; [layer] sums the layers before it.
  struct ClassSums {
    std::vector<Seconds> forward, backward, backward_input, backward_weight, least_backward;
    std::vector<Bytes> saved, output, weight_pending;
    RangeMaximum forward_peak;             ///< of held before the layer + its forward peak
    RangeMaximum backward_peak;            ///< of held up to the layer's end + its backward peak
    std::vector<Bytes> own_backward_peak;  ///< [layer]
  };

  /// What does not depend on replicas.
  struct Sums {
    int layer_count = 0;
    std::vector<ClassSums> classes;     ///< [class][recompute]
    std::vector<Bytes> least_boundary;  ///< [class]: between any two layers
    /// [recompute][layer]: to the backward of a micro-batch of class 0; not a difference of sums,
    /// so that it is 0 where nothing changes.
    std::array<std::vector<Seconds>, kRecomputeCount> added;
    std::vector<int> alike;  ///< [layer]
    std::vector<Bytes> parameters{Bytes{0}}, gradients{Bytes{0}}, optimizer_state{Bytes{0}},
        updated{Bytes{0}};  ///< prefix sums, every copy counted
    std::vector<Seconds> optimizer{Seconds(0)};
    std::vector<SharedTensor> shared;
  };

  /// Cost of a layer under a recompute option, everything included.
  using CostOfLayer = std::function<LayerCost(const Layer&, Recompute)>;

  static ClassSums sum_class(const Model& model, const CostOfLayer& cost_of, Recompute recompute);
  static Sums sum_all(const Profile& profile, const CostTable& costs,
                      const std::vector<int>& class_sizes, const Network& network,
                      const Replicas& replicas);
  [[nodiscard]] const ClassSums& of(int class_index, Recompute recompute = Recompute::kNone) const {
    return sums_->classes[static_cast<std::size_t>(class_index) * kRecomputeCount +
                          static_cast<std::size_t>(recompute)];
  }

  /// What a run adds to a stage.
  struct RunMemory {
    Bytes saved;
    Bytes forward_peak;   ///< above the level at which the run's forward starts
    Bytes backward_peak;  ///< above the level at which its backward starts, the incoming gradients
                          ///< of all but the stage's last layer included
  };
  [[nodiscard]] RunMemory run_memory(const RecomputedRun& run, bool ends_stage, Bytes stage_output,
                                     int class_index) const;
  [[nodiscard]] RunMemory segmented_memory(const RecomputedRun& run, bool ends_stage,
                                           Bytes stage_output, int class_index) const;

  std::shared_ptr<const Sums> sums_;
  Network network_;
  Replicas replicas_;
};

}  // namespace ppplan::planner
