// Rotary embedding keys, old and new, as transformers 5 standardizes them.
#pragma once

#include "profiler/models/config.h"
#include "reports/documents/model.h"

#include <cstdint>

namespace ppplan::profiler {

/// Rotary embedding of a model whose heads have `head_size` features: transformers' new
/// `rope_parameters`, or `rope_scaling` and `rope_theta`. Types the executor does not run pass
/// through by name. Throws for an odd `head_size`, for heads rotated in part, and for parameters
/// nested by layer type.
RopeOp read_rope(const Config& config, std::int64_t head_size, std::int64_t max_sequence);

}  // namespace ppplan::profiler
