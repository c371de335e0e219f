// Other ways to train the model on the devices of a plan: what it is compared with.
#pragma once

#include "planner/partition.h"
#include "planner/plan_writer.h"
#include "planner/question.h"

#include <optional>
#include <string>
#include <vector>

namespace ppplan::planner {

/// A family of layouts, with the best plan found of it.
struct RivalPlan {
  std::string way;  ///< "fully sharded data parallel"
  bool pipeline = false;
  Priced priced;  ///< fits, or needs least of those that do not
};

/// One device; every device with a copy of the model, with the optimizer's state divided, with
/// everything divided (fully sharded); tensor parallel, with copies or fully sharded; a pipeline
/// alone, with data parallelism, and with both. On `device_count` devices, micro-batches, recompute
/// and degrees as suit each best. A way that the profile has no rows for, or that the batch cannot
/// be dealt out to, is left out. Fully sharded: no pipeline.
std::vector<RivalPlan> find_rivals(const Question& question, const PartitionOptions& options,
                                   int device_count);

/// In the plan document's words.
Rival describe_rival(const RivalPlan& rival, double tokens);

/// "tensor 8, data 16, pipeline 8, optimizer sharded"; "1 device".
std::string layout_words(const Layout& layout, int rank_count);

/// The step of the same layout, micro-batch, schedule and cut under a changed question; empty when
/// it cannot stand there, or no longer fits.
std::optional<Seconds> price_again(const Question& question, const Priced& priced);

}  // namespace ppplan::planner
