// A profile without measuring: from a model's programs and a device's data sheet, for machines that
// one does not have.
//
// Times: every operator's kernels by a roofline (roofline.h), as one device of its tensor-parallel
// group runs them (sharded_program.h). Memory: values followed from step to step
// (program_memory.h); for a GPT block with dropout and stored scores what is kept is the
// s b h (34 + 5 a s / h) / t bytes of Korthikanti et al. 2022 (Reducing activation recomputation in
// large transformer models, section 4, table 2), with selective recompute 34 s b h / t, with full
// 2 s b h / t. Left out: kernels' statistics (a few bytes a token and head), what the allocator
// loses to fragments, contexts of libraries, and whatever else runs on the device.
//
// The backward pass of a layer cut by tensor parallelism gathers the tokens once more for the
// weights' gradients; like the trainers, it does so while it computes, and Collective does not
// count it. Nor does it count that chunks send the same bytes in more pieces.
#pragma once

#include "profiler/estimate/sharded_program.h"
#include "profiler/models/counts.h"
#include "reports/documents/device_sheet.h"
#include "reports/documents/model.h"
#include "reports/documents/profile.h"

#include <cstdint>
#include <vector>

namespace ppplan::profiler {

/// Megatron-LM's mixed precision: weights and activations bfloat16, gradients summed in float32,
/// AdamW's two moments and its own weights float32: 2 + 4 + 12 = 18 bytes a parameter.
inline constexpr Precision kMegatronBfloat16{.name = "bfloat16",
                                             .parameter_bytes = 2,
                                             .gradient_bytes = 4,
                                             .optimizer_bytes = 12,
                                             .activation_bytes = 2};

/// More rows are a slip of the command line.
inline constexpr std::size_t kMostEstimates = 50'000;

struct EstimateOptions {
  DeviceSheet device;
  Cluster cluster;
  std::vector<int> micro_batches{1, 2, 4, 8};  ///< samples, each at least 1
  std::vector<std::int64_t> sequences;         ///< tokens a sample, each at least 1
  /// Tensor-parallel degrees; each must divide every kind of layer.
  std::vector<int> tensor_degrees{1};
  /// Context-parallel degrees; twice each must divide every sequence.
  std::vector<int> context_degrees{1};
  Precision precision = kMegatronBfloat16;
  AttentionKernel attention = AttentionKernel::kFlash;
  bool dropout = false;  ///< count its masks; the model document has no dropout
  /// Tokens; those of a micro-batch or more are left out.
  std::vector<std::int64_t> recompute_chunks{256, 512, 1024, 2048, 4096};
};

/// The powers of two up to `most` that divide every kind of layer of the model.
std::vector<int> tensor_degrees(const Model& model, int most);

/// Rows for every kind, micro-batch, sequence and pair of degrees. Blocks: nothing, the attention
/// core, and everything recomputed, the last also in chunks. Heads: nothing recomputed, the logits
/// also in chunks. Embeddings: nothing recomputed. `input_sha256` stays empty.
///
/// Throws Error(kBadInput) for a tensor degree that does not divide the model or is more than a
/// node's devices, for a context degree that does not divide a sequence or is more than the
/// cluster's, for more than kMostEstimates rows, and for sizes beyond 2^53 bytes.
/// O(rows x operators).
Profile estimate(const Model& model, const EstimateOptions& options);

}  // namespace ppplan::profiler
