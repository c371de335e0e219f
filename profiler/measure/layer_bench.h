// Runs several layers of one kind one after the other, as a stage does, and times their parts.
#pragma once

#include "executor/layers/adamw.h"
#include "executor/layers/layer_module.h"
#include "executor/layers/parameters.h"
#include "reports/documents/model.h"
#include "reports/documents/units.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ppplan::profiler {

struct LayerShape {
  int micro_batch = 1;
  std::int64_t sequence = 1;
};

/// One pass with a full backward: seconds of one layer (the mean over the bench's).
struct FullPass {
  double forward_s = 0.0;
  double backward_s = 0.0;
};

/// One pass with a split backward, likewise.
struct SplitPass {
  double backward_input_s = 0.0;
  double backward_weight_s = 0.0;
};

struct LayerMemory {
  Bytes saved;
  Bytes forward_peak;
  Bytes backward_peak;
  Bytes weight_pending;
  Bytes output;
};

class LayerBench {
 public:
  /// `instance_count` layers of `kind`, each with weights of its own: enough of them that weights
  /// are as cold as in a real step.
  LayerBench(const Model& model, int kind, int instance_count);

  /// Forward through all layers, then backward through all.
  FullPass run_full(const LayerShape& shape);
  /// The same with input gradients first and weight gradients after.
  SplitPass run_split(const LayerShape& shape);
  /// Bytes of one layer at that shape, counted by the allocator.
  LayerMemory memory(const LayerShape& shape);
  /// Clears gradients and updates once; seconds of one layer.
  double run_optimizer();

 private:
  [[nodiscard]] executor::LayerInput input(const LayerShape& shape) const;
  [[nodiscard]] at::Tensor output_gradient(const LayerShape& shape) const;
  /// Seconds of a pass over all layers, forward or backward.
  double forward(const LayerShape& shape);
  double backward(const LayerShape& shape, executor::WeightWork::When when);

  std::int64_t hidden_;
  std::int64_t vocabulary_;
  LayerRole role_;
  executor::ParameterStore store_;
  std::vector<std::unique_ptr<executor::LayerModule>> layers_;
  std::optional<executor::AdamW> optimizer_;
  std::vector<executor::LayerModule::Saved> saved_;  ///< by layer, from forward to backward
  std::vector<executor::WeightWork> work_;           ///< by layer, from backward on
};

}  // namespace ppplan::profiler
