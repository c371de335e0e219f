// From a profile and limits to a plan: micro-batch size, schedule and cut whose simulated step is
// shortest, or the reason why none fits.
#pragma once

#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ppplan::planner {

struct CostBasis;

/// Asks for an order made for the plan's own stage times instead of a named one (synthesize.h).
inline constexpr std::string_view kSynthesized = "synthesized";

/// What is asked. An empty optional leaves the choice to the planner.
struct PartitionOptions {
  /// Ranks; each has one stage unless the schedule gives it several. Any number up to the profile's
  /// devices when empty.
  std::optional<int> stage_count = std::nullopt;
  std::int64_t global_batch = 0;  ///< samples a step
  /// Samples; any size that was measured or lies between measured ones when empty.
  std::optional<int> micro_batch = std::nullopt;
  /// Tokens a sample; the longest measured when empty.
  std::optional<std::int64_t> sequence = std::nullopt;
  /// A rank's limit; its device's when empty.
  std::optional<Bytes> memory = std::nullopt;
  /// Allowed ones: names of schedule_names, or kSynthesized. Of plans equally fast the one that
  /// needs least memory, then the first of these. Empty: 1f1b, gpipe and naive for one pipeline,
  /// 1f1b and interleaved-1f1b for layouts of many devices; with virtual_count above 1 those that
  /// have any number of stages a rank.
  std::vector<std::string> schedules{};
  /// Stages a rank; the schedule's own number when empty: 1, or 2 where it has several.
  std::optional<int> virtual_count = std::nullopt;
  std::vector<LayerPin> pins{};
  std::vector<int> layer_counts{};  ///< by stage; empty: left to the planner

  /// Inference: forwards only, parameters alone in memory. The step is the time of a whole batch;
  /// for the least latency ask for a batch of one micro-batch.
  bool forward_only = false;

  /// Devices in all; where empty, the profile's cluster. Without either there is one pipeline,
  /// whose ranks are one device each; with one of them every layout of so many devices is looked
  /// at.
  std::optional<int> device_count = std::nullopt;
  /// Of one pipeline: which device of the profile each rank is, counted from 0; empty: searched
  /// where devices differ.
  std::vector<int> device_order{};
  /// Devices that share a layer, and pipelines; empty: any that the profile has rows for, and as
  /// many as there are devices for.
  std::optional<int> tensor_parallel = std::nullopt;
  std::optional<int> data_parallel = std::nullopt;
  std::optional<DataSharding> data_sharding = std::nullopt;
  /// The most that may be recomputed.
  Recompute recompute = Recompute::kFull;
  /// Tokens a piece of recomputing; empty: any that the profile has rows for, and all at once.
  std::optional<std::int64_t> recompute_chunk = std::nullopt;
  /// Kept free on every rank: fragmentation, libraries.
  Bytes reserve{0};
};

/// How the plan was found. A candidate is a layout, a micro-batch size, a size of
/// recomputed pieces and a schedule.
struct SearchCounts {
  int candidate_count = 0;
  int excluded_count = 0;  ///< by their lower bound, without a search for their best cut
  int left_out_count = 0;  ///< of very many: not promising enough to be searched
  Seconds left_out_bound{std::numeric_limits<double>::infinity()};  ///< none of those is faster
  std::int64_t simulated_count = 0;                                 ///< whole cuts
  bool proven = false;  ///< no cut of any candidate is faster
  Seconds bound{0};     ///< none is faster than this; the plan's step where proven
};

struct Planned {
  Plan plan;
  Schedule schedule;
  Timeline timeline;           ///< of one step
  std::vector<Bytes> allowed;  ///< memory limit by rank
  SearchCounts search;
  std::shared_ptr<const CostBasis> basis;  ///< what the plan's costs come from (candidate.h)
};

/// No plan fits. `needed` and `allowed` are those of the binding rank in the plan that comes
/// nearest.
struct Infeasible {
  int rank = 0;
  Bytes needed;
  Bytes allowed;
  std::string reason;                 ///< one line, lower case
  std::vector<std::string> remedies;  ///< each alone makes it fit, found by planning again
};

/// The plan with the shortest step: simulated makespan + reduction of shared tensors + the slowest
/// rank's optimizer + the profile's step overhead. All sizes of micro-batch from 1 to the global
/// batch within the measured range are tried, with a smaller last one where they do not divide it.
/// The further devices of more stages than the profile has are taken to be like its last one.
/// lower_bound: over all cuts of all sizes the largest, by stage, of the way to the stage and back
/// plus the stage's work, whatever the schedule; and the way of one micro-batch through all layers.
/// Throws Error(kBadInput) for what contradicts itself or lies outside the profile.
/// Deterministic: work is limited by counts, never by time; where the limit is reached
/// search.proven is false.
std::variant<Planned, Infeasible> partition(const Profile& profile,
                                            const PartitionOptions& options);

}  // namespace ppplan::planner
