// profile.yaml: what a model's layers and a machine's links cost, and how that is known.
#pragma once

#include "reports/documents/model.h"
#include "reports/documents/units.h"

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

/// What one layer of a kind costs for one micro-batch at one shape.
struct Measurement {
  int kind = 0;               ///< index into Model::kinds
  int micro_batch = 0;        ///< samples
  std::int64_t sequence = 0;  ///< tokens a sample
  int tensor_parallel = 1;
  std::string recompute = "none";
  int concurrent_workers = 1;  ///< local workers busy at once while this was timed
  Timing forward;
  Timing backward;  ///< input and weight gradients in one pass
  Timing backward_input;
  Timing backward_weight;
  Seconds recompute_extra{0};
  Bytes saved;          ///< kept from forward to backward; the input counts when the layer keeps it
  Bytes forward_peak;   ///< most above the start of forward, at which the input is already held
  Bytes backward_peak;  ///< most above the start of backward, at which `saved` and the incoming
                        ///< gradient are already held; saved bytes are given back as it proceeds
  Bytes weight_pending;  ///< kept from input-gradient to weight-gradient backward
  Bytes output;          ///< boundary output: activation sent on, and gradient sent back
  bool stable = true;    ///< the stopping rule was met; else the time budget was spent
  bool operator==(const Measurement&) const = default;
};

/// What the optimizer costs for one layer of a kind (clear gradients + update), once a step.
struct OptimizerCost {
  int kind = 0;
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

/// A link between two ranks: time of a transfer = latency + size / bandwidth, fitted to samples.
struct Link {
  std::string name;     ///< "loopback", "nvlink", ...
  std::string backend;  ///< "gloo", "nccl", "memory"
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
  bool operator==(const Device&) const = default;
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
