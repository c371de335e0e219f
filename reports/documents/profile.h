// profile.yaml: what a model's layers and a machine's links cost, and how that is known.
#pragma once

#include "reports/documents/model.h"
#include "reports/documents/units.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ppplan {

/// How the numbers of a profile came to be.
enum class Origin { kMeasured, kImported, kEstimated };

/// A repeated timing.
struct Timing {
  Seconds median{0};
  double spread = 0.0;  ///< half width of the median's 95 % confidence interval / median
  int repeats = 0;
  bool operator==(const Timing&) const = default;
};

/// Over how many devices one layer is spread. A micro-batch's samples are on all of them.
struct Sharding {
  int tensor = 1;   ///< with sequence parallelism outside the matrix products
  int context = 1;  ///< the sequence cut into pieces
  int expert = 1;   ///< a routed layer's experts
  [[nodiscard]] int device_count() const { return tensor * context; }
  auto operator<=>(const Sharding&) const = default;
};

/// What of a layer's saved activations is computed again in its backward pass.
enum class Recompute {
  kNone,
  kSelective,  ///< the attention core
  kFull,       ///< everything but the layer's input
};
inline constexpr std::size_t kRecomputeCount = 3;

enum class CollectiveKind { kAllReduce, kAllGather, kReduceScatter, kAllToAll };
enum class CollectiveGroup { kTensor, kContext, kExpert };

/// Traffic among the devices that share a layer, in its forward pass; its backward pass has the
/// same again, and a full recompute the forward's once more.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  CollectiveGroup group = CollectiveGroup::kTensor;
  int count = 1;
  Bytes size;  ///< of the whole tensor: what each device ends with, or starts from
  bool operator==(const Collective&) const = default;
};

/// What one layer of a kind costs for one micro-batch at one shape, on one of the devices that
/// share it.
struct Measurement {
  int kind = 0;               ///< index into Model::kinds
  int micro_batch = 0;        ///< samples
  std::int64_t sequence = 0;  ///< tokens a sample
  Sharding sharding;
  Recompute recompute = Recompute::kNone;
  /// Tokens a piece in which the token-wise parts are computed again (and, in a head, the logits
  /// computed at all); 0: all at once.
  std::int64_t recompute_chunk = 0;
  int concurrent_workers = 1;  ///< local workers busy at once while this was timed
  Timing forward;
  Timing backward;  ///< input and weight gradients in one pass
  Timing backward_input;
  Timing backward_weight;
  Seconds recompute_extra{0};  ///< of `backward` and `backward_input`: what recomputing added
  Bytes saved;          ///< kept from forward to backward; the input counts when the layer keeps it
  Bytes forward_peak;   ///< most above the start of forward, at which the input is already held
  Bytes backward_peak;  ///< most above the start of backward, at which `saved` and the incoming
                        ///< gradient are already held; saved bytes are given back as it proceeds
  Bytes weight_pending;  ///< kept from input-gradient to weight-gradient backward
  Bytes output;          ///< boundary output: activation sent on, and gradient sent back
  bool stable = true;    ///< the stopping rule was met; else the time budget was spent
  /// Standard deviation / mean of the times over micro-batches (routing), beyond timing noise.
  double variation = 0.0;
  std::vector<Collective> collectives{};  ///< not in the times
  bool operator==(const Measurement&) const = default;
};

/// What the optimizer costs for one layer of a kind (clear gradients + update), once a step.
struct OptimizerCost {
  int kind = 0;
  Sharding sharding;  ///< context devices hold the same parameters
  int concurrent_workers = 1;
  Timing step;
  Bytes parameters;  ///< of one layer
  Bytes gradients;
  Bytes optimizer_state;
  bool operator==(const OptimizerCost&) const = default;
};

struct LinkSample {
  Bytes size;
  Timing transfer;
  bool operator==(const LinkSample&) const = default;
};

/// Which devices a link joins.
enum class LinkScope {
  kInside,   ///< of one node
  kBetween,  ///< of different nodes
};

/// A link between two ranks: time of a transfer = latency + size / bandwidth, fitted to samples.
struct Link {
  std::string name;     ///< "loopback", "nvlink", ...
  std::string backend;  ///< "gloo", "nccl", "memory"
  LinkScope scope = LinkScope::kInside;
  Seconds latency{0};
  BytesPerSecond bandwidth;
  double fit_error = 0.0;  ///< largest |fit - sample| / sample
  std::vector<LinkSample> samples;
  bool operator==(const Link&) const = default;
};

struct Device {
  std::string name;  ///< "AMD EPYC 9754", "NVIDIA H200"
  std::string type;  ///< "cpu" or "cuda"
  std::string id;    ///< UUID of a GPU, "core 3" of a pinned CPU worker
  Bytes memory;      ///< what one rank on it may use
  /// Against the device that the measurements were made on: 0.5 takes twice their times.
  double speed = 1.0;
  /// Matrix products a second on its data sheet, at the profile's precision; 0: not known.
  double peak_flops_per_s = 0.0;
  bool operator==(const Device&) const = default;
};

/// The machines a plan may use, where they are more than those that were measured: nodes alike,
/// each with the profile's devices, repeated in their order.
struct Cluster {
  int node_count = 1;
  int devices_per_node = 1;
  [[nodiscard]] int device_count() const { return node_count * devices_per_node; }
  bool operator==(const Cluster&) const = default;
};

/// With what the numbers were measured; `run` warns when its own differ.
struct Kernels {
  std::string torch;      ///< "2.11.0"
  std::string attention;  ///< "flash-cpu", "math", ...
  std::string blas;       ///< "mkl", "openblas", ...
  std::string precision = "float32";
  int threads = 1;  ///< intra-op threads of one worker
  bool pinned = false;
  bool operator==(const Kernels&) const = default;
};

struct Profile {
  std::string tool_version;
  std::string input_sha256;  ///< of the model's configuration
  Origin origin = Origin::kMeasured;
  Model model;
  std::vector<Device> devices;  ///< one a local worker
  std::optional<Cluster> cluster{};
  Kernels kernels;
  double target_spread = 0.0;  ///< the stopping rule's relative error
  Seconds call_overhead{0};    ///< per action, beyond its layers' own time
  Seconds step_overhead{0};    ///< per step, beyond actions, reductions and optimizer
  std::vector<Measurement> measurements;
  std::vector<OptimizerCost> optimizer;
  std::vector<Link> links;  ///< at least one when more than one device is there
  bool operator==(const Profile&) const = default;
};

/// Throw Error(kBadInput) "file:line:column: key: expected ..., found ..." with a hint.
Profile read_profile(std::string_view text, const std::string& name);
Profile load_profile(const std::filesystem::path& path);
/// The document; reading it back gives an equal Profile.
std::string write_profile(const Profile& profile);

}  // namespace ppplan
