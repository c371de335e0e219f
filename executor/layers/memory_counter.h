// Counts the bytes of all CPU tensors of this process exactly, and keeps freed memory for the next
// use.
#pragma once

#include "reports/documents/units.h"

namespace ppplan::executor {

/// Makes every CPU tensor of the process counted from now on. Also tells the C library to keep what
/// is freed: a step allocates what the last one freed, and asking the system again costs a page
/// fault for each 4 KiB. Call once, before the first tensor and before threads.
void count_cpu_memory();

/// Bytes of live CPU tensors.
Bytes current_memory();
/// Largest value of `current_memory` since the last call of `reset_peak_memory`.
Bytes peak_memory();
void reset_peak_memory();

/// Largest resident set of the process so far, libraries included.
Bytes peak_resident();

}  // namespace ppplan::executor
