// The exporter for PyTorch's own pipelining (torch.distributed.pipelining).
#pragma once

#include "reports/export/exporter.h"

namespace ppplan::exports {

/// Writes
///   schedule.csv       one row a rank, PyTorch's `compute_only` form
///   split_points.json  {module: "BEGINNING"} for `pipeline(split_spec=...)`
///   plan.json          stages' ranks and modules, micro-batches, tied weights
///   train.py, hf_stages.py, README.md   a script that trains the plan under torchrun
/// Refuses what PyTorch's stages cannot do: micro-batches of different sizes (buffers take the
/// first one's shape), stages without layers, data or tensor parallelism, frozen layers.
Export export_pytorch(const Plan& plan);

}  // namespace ppplan::exports
