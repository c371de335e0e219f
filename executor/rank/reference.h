// The single process that a run is verified against: the same model, weights and batch, written
// with LibTorch's own operators and autograd and not with ours, so that a fault of ours cannot
// hide.
#pragma once

#include "executor/layers/parameters.h"
#include "executor/rank/batch.h"
#include "reports/documents/model.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

namespace ppplan::executor {

struct ReferenceResult {
  double loss = 0.0;  ///< mean over labelled tokens
  std::int64_t token_count = 0;
  std::map<std::string, at::Tensor> gradients;  ///< of the mean loss, by global name
};

/// Makes every tensor of `model` in `store`.
void make_all_parameters(const Model& model, ParameterStore& store);

/// Loss and gradients of the joint batch, computed slice by slice.
ReferenceResult run_reference(const Model& model, const ParameterStore& store,
                              const std::vector<Batch>& slices);

/// Logits [B,S,V] of a batch, by the same operators, without gradients.
at::Tensor reference_logits(const Model& model, const ParameterStore& store,
                            const at::Tensor& tokens);

}  // namespace ppplan::executor
