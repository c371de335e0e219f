// Shows how samples of different lengths become micro-batches, and how the methods compared.
#pragma once

#include "reports/documents/batching.h"
#include "reports/documents/json_writer.h"
#include "reports/render/table.h"

#include <string>
#include <vector>

namespace ppplan::render {

/// A row for each method, then the chosen one's waiting and memory by rank (the first 32).
/// `allowed`: memory limit by rank.
std::string batching_text(const Batching& batching, const std::vector<Bytes>& allowed,
                          const TableOptions& options = {});

/// One value: an object with the batching's figures.
void write_batching(JsonWriter& json, const Batching& batching);

}  // namespace ppplan::render
