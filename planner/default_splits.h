// The splits that trainers make where they are told nothing: what a plan is compared with.
#pragma once

#include "planner/chain_costs.h"
#include "reports/documents/model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppplan::planner {

/// A trainer's own split of a model. An empty cut: it refuses, for the reason in `refusal`.
struct TrainerSplit {
  std::string trainer;
  std::string rule;
  Cut cut;
  std::string refusal;
};

/// Of each trainer that has a default, in `stage_count` >= 1 stages.
///   Megatron-LM              equal numbers of blocks; the embedding joins the first stage and the
///                            head the last, and neither is weighed
///   DeepSpeed "parameters"   (its default) the numbers of trainable parameters balanced, by
///                            least_spread
///   DeepSpeed "uniform"      equal numbers of layers, the first stages taking the remainder
///   torchtitan               likewise, of blocks, with embedding and head as one block each
/// O(layers^2 stages), refused where that is beyond some hundred million.
std::vector<TrainerSplit> default_splits(const Model& model, int stage_count);

/// DeepSpeed's partition_balanced (deepspeed/runtime/utils.py): parts of nearly equal sums,
/// by a dynamic programme over (the largest - the smallest sum of the parts so far); of equal ones
/// the one whose last part is shortest. No part is empty. Precondition: 1 <= part_count <=
/// weights.size(). O(weights^2 parts).
Cut least_spread(const std::vector<std::int64_t>& weights, int part_count);

/// Equal numbers of items, the first parts taking the remainder.
Cut even_parts(int item_count, int part_count);

}  // namespace ppplan::planner
