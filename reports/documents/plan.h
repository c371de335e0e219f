// plan.yaml: what the planner promises and the executor runs. It holds the model too, so that a
// plan alone is enough to run, verify and export.
#pragma once

#include "reports/documents/batching.h"
#include "reports/documents/model.h"
#include "reports/documents/profile.h"
#include "reports/documents/units.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ppplan {

/// What data-parallel ranks divide among themselves instead of holding it whole each.
enum class DataSharding {
  kNone,
  kOptimizer,   ///< the optimizer's state and work
  kParameters,  ///< parameters, gradients and optimizer state: fully sharded
};

/// Which ranks stand next to each other, in the same node as far as it goes. Devices that share a
/// layer always do.
enum class DeviceOrder {
  kDataInside,      ///< data-parallel ranks of one stage
  kPipelineInside,  ///< stages of one pipeline
};

/// How often the pipeline stands there, and on how many devices each of its ranks.
struct Layout {
  Sharding sharding;
  int data_parallel = 1;
  DataSharding data_sharding = DataSharding::kNone;
  DeviceOrder order = DeviceOrder::kDataInside;
  /// Of one pipeline rank, over all pipelines.
  [[nodiscard]] int device_count() const { return sharding.device_count() * data_parallel; }
  auto operator<=>(const Layout&) const = default;
};

/// Neighbouring layers of a stage that recompute alike.
struct RecomputeRun {
  int layer_count = 0;
  Recompute recompute = Recompute::kNone;
  int segment = 1;  ///< of full recompute: layers that keep one input together
  bool operator==(const RecomputeRun&) const = default;
};

/// Layers that must be in one stage.
struct LayerPin {
  int first_layer = 0;
  int last_layer = 0;  ///< the last of them
  int stage = 0;
  bool operator==(const LayerPin&) const = default;
};

/// What was asked of the planner. An empty optional left the choice to it.
struct Constraints {
  std::optional<int> stage_count;    ///< of ranks; each has one stage unless virtual_count says so
  std::optional<int> virtual_count;  ///< stages a rank
  std::int64_t global_batch = 0;     ///< samples a step
  std::int64_t sequence = 0;         ///< tokens a sample
  std::optional<int> micro_batch;
  std::optional<Bytes> memory;         ///< a rank's limit
  std::vector<std::string> schedules;  ///< names allowed; empty: all known
  std::vector<LayerPin> pins;
  std::vector<int> layer_counts;      ///< by stage; empty: left to the planner
  std::optional<int> device_count{};  ///< in all; empty: the profile's
  std::optional<int> tensor_parallel{};
  std::optional<int> data_parallel{};
  std::optional<DataSharding> data_sharding{};
  Recompute recompute = Recompute::kFull;  ///< the most allowed
  std::optional<std::int64_t> recompute_chunk{};
  Bytes reserve{0};  ///< of a rank's memory, kept free
  bool operator==(const Constraints&) const = default;
};

/// One rank's predicted peak, by what fills it (all at the moment of the peak).
struct MemoryBreakdown {
  Bytes parameters;
  Bytes gradients;
  Bytes optimizer_state;
  Bytes activations;  ///< saved by forwards in flight
  Bytes transient;    ///< workspace of the running action
  Bytes buffers;      ///< boundary tensors being sent or received
  [[nodiscard]] Bytes total() const {
    return parameters + gradients + optimizer_state + activations + transient + buffers;
  }
  bool operator==(const MemoryBreakdown&) const = default;
};

/// A run of layers on one rank. Times are for one micro-batch of the plan's full size.
struct PlanStage {
  int rank = 0;
  int first_layer = 0;
  int layer_count = 0;  ///< 0 is legal: the stage passes tensors on
  Seconds forward{0};
  Seconds backward{0};
  Seconds backward_input{0};
  Seconds backward_weight{0};
  Bytes output;  ///< sent to the next stage for one full micro-batch; 0 for the last
  std::vector<RecomputeRun> recompute{};  ///< sums to layer_count; empty: nothing is recomputed
  bool operator==(const PlanStage&) const = default;
};

struct PlanRank {
  std::string device;  ///< Device::name
  Seconds busy{0};     ///< computing in one step, optimizer included
  Seconds idle{0};
  Seconds reduction{0};  ///< shared (tied) weights' gradients
  Seconds optimizer{0};
  MemoryBreakdown memory;
  int in_flight = 0;  ///< most micro-batches held
  bool operator==(const PlanRank&) const = default;
};

struct Prediction {
  Seconds step{0};
  double bubble = 0.0;  ///< share of rank-time not computing: 1 - sum(busy)/(ranks * makespan)
  double tokens_per_s = 0.0;
  double tokens_per_s_per_device = 0.0;
  /// Model FLOPs utilization (Chowdhery et al. 2022, PaLM, appendix B): what the model's own
  /// operations, nothing recomputed, take of the devices' peak; 0: not known.
  double mfu = 0.0;
  bool operator==(const Prediction&) const = default;
};

/// A candidate that lost: what it was, what it would have cost, and why it is not the plan.
struct RunnerUp {
  Layout layout;
  int rank_count = 1;
  std::string schedule;
  int micro_batch = 0;
  int micro_batch_count = 0;
  std::int64_t recompute_chunk = 0;  ///< as the plan's
  std::vector<int> layer_counts;     ///< by stage
  Seconds step{0};
  Bytes peak;          ///< of the fullest rank
  std::string reason;  ///< "12.5 % slower", "rank 1 needs 3.1 GiB of 2.0 GiB"
  bool operator==(const RunnerUp&) const = default;
};

/// Against one device without pipelining, on the same profile.
struct Verdict {
  bool worth_it = true;
  double speedup = 0.0;  ///< step time of the alternative / of the plan; 0 when it does not fit
  std::string sentence;
  bool operator==(const Verdict&) const = default;
};

/// Another way to train the same model on the same devices.
struct Rival {
  std::string way;  ///< "one device", "fully sharded data parallel"
  int device_count = 0;
  std::string layout;  ///< "tensor 8, data 128"
  int micro_batch = 0;
  Seconds step{0};
  double tokens_per_s = 0.0;
  Bytes peak;
  bool fits = true;
  bool operator==(const Rival&) const = default;
};

struct Plan {
  std::string tool_version;
  std::string input_sha256;  ///< of the profile
  Constraints constraints;
  Model model;
  Kernels kernels;
  Link link;
  Layout layout;
  int available_devices = 0;         ///< that layouts could use; 0: no layout was asked
  bool export_only = false;          ///< the executor cannot run it
  std::int64_t recompute_chunk = 0;  ///< tokens (Measurement::recompute_chunk)
  int micro_batch = 0;               ///< samples of a full micro-batch
  std::vector<int> micro_batches;    ///< samples of each; sums to the global batch
  std::string schedule;              ///< a generator's name, or "custom"
  std::vector<std::string> actions;  ///< of a custom schedule: one line a rank; else empty
  std::vector<PlanStage> stages;
  std::vector<PlanRank> ranks;
  Prediction predicted;
  Seconds lower_bound{0};  ///< no plan of this profile and these limits is faster
  std::vector<RunnerUp> runners_up;
  std::vector<Rival> rivals{};
  Verdict verdict;
  std::optional<Batching> batching;  ///< of samples of different lengths, where that was asked
  bool operator==(const Plan&) const = default;
};

/// Throw Error(kBadInput) as read_profile does; also when stages do not cover every layer exactly
/// once and in order, ranks are missing, or micro-batches do not add up.
Plan read_plan(std::string_view text, const std::string& name);
Plan load_plan(const std::filesystem::path& path);
std::string write_plan(const Plan& plan);

}  // namespace ppplan
