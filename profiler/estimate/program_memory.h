// What a device's memory holds while a layer's program runs, by following its values from step to
// step: made by one, freed after the last that needs it.
#pragma once

#include "profiler/estimate/sharded_program.h"
#include "reports/documents/profile.h"
#include "reports/documents/units.h"

#include <cstdint>

namespace ppplan::profiler {

/// How one micro-batch goes through a layer.
struct PassShape {
  std::int64_t tokens = 1;
  Recompute recompute = Recompute::kNone;
  /// 0: all tokens at once. Otherwise, under Recompute::kFull and in a head, this many tokens at a
  /// time go through what is token-wise.
  std::int64_t chunk = 0;
};

/// Fields as in Measurement.
struct PassMemory {
  Bytes saved;
  Bytes forward_peak;
  Bytes backward_peak;
  Bytes weight_pending;
  Bytes output;
};

/// Nothing recomputed: what counts.h says, divided by t. Selective: without the attention's scores,
/// which backward makes again. Full: the input alone, and backward starts with another forward.
///
/// Full in chunks: backward makes the values at the borders of the attention again (query, key,
/// value, its output; for all tokens, with their gradients), and the others for one chunk at a
/// time. A head in chunks: a chunk's logits at a time, forward and backward, and none kept.
///
/// Throws Error(kBadInput) for more than 2^53 bytes. O(steps).
PassMemory pass_memory(const ShardedProgram& program, const PassShape& shape);

}  // namespace ppplan::profiler
