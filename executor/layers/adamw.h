// AdamW (Loshchilov & Hutter, ICLR 2019) over a rank's tensors, one fused pass.
#pragma once

#include "executor/layers/parameters.h"

#include <vector>

namespace ppplan::executor {

struct AdamWOptions {
  double learning_rate = 3e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
};

class AdamW {
 public:
  /// Makes the state (two float32 tensors a parameter) for all tensors of `store` that have a
  /// gradient.
  AdamW(const ParameterStore& store, const AdamWOptions& options);

  /// Updates every tensor from its gradient, in place.
  void step();

 private:
  AdamWOptions options_;
  std::vector<at::Tensor> values_, gradients_, means_, squares_, steps_;
};

}  // namespace ppplan::executor
