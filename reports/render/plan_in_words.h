// Phrases about plans that several views share.
#pragma once

#include "reports/documents/json_writer.h"
#include "reports/documents/plan.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ppplan::render {

/// "1 stage", "8 stages".
std::string plural(std::size_t count, std::string_view noun);

/// "1,024"
std::string grouped(std::int64_t count);

/// "12.5 %"
std::string percent(double share);

/// Breaks a sentence at blanks into lines of at most `width` columns, each ended by a new line.
std::string wrapped(const std::string& sentence, std::size_t width);

/// "4 stages", "8 stages on 4 ranks", "64 stages on 16 ranks × 8 pipelines × 8 devices a layer
/// (tensor parallel), optimizer sharded".
std::string layout_in_words(const Layout& layout, int rank_count, std::size_t stage_count);

/// "8 × 16 × 8": devices that share a layer × ranks of a pipeline × pipelines.
std::string layout_in_figures(const Layout& layout, int rank_count);

/// "1,024 of 1,024 devices, stages of a pipeline side by side in nodes"; empty where no layout was
/// asked.
std::string devices_in_words(const Plan& plan);

/// "4 micro-batches of 2", "one micro-batch of 8", "3 micro-batches (2 of 3, one of 2)", and " in
/// each pipeline" where there are several.
std::string batches_in_words(const Plan& plan);

/// "full 3 of 8", "full 2, selective 6 of 8", "full 8 by 2 of 8" in segments of two layers; empty
/// where nothing is recomputed.
std::string recompute_in_words(const PlanStage& stage);

/// "in pieces of 512 tokens"; empty where layers are computed whole.
std::string chunk_in_words(std::int64_t recompute_chunk);

/// Why the plan is for export only: "layers shared between devices, several pipelines"; empty where
/// it can be run.
std::string beyond_the_executor(const Plan& plan);

/// "15 16"; "8 each" for many equal ones; "3, 61 of 2, 1" for more than fit a table.
std::string counts_in_words(const std::vector<int>& counts);

/// Members of an open object: the degrees, the sharding and the order, by the plan document's keys.
void write_layout(JsonWriter& json, const Layout& layout);

}  // namespace ppplan::render
