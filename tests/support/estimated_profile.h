// Profiles of large models on large clusters, estimated in memory: what the planner is asked about.
#pragma once

#include "profiler/estimate/estimate.h"
#include "reports/documents/model.h"
#include "reports/documents/profile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppplan::testing {

/// Sizes of a model of Llama's kind. Letters as in model.h.
struct ModelSizes {
  std::string name = "llama";
  int block_count = 32;
  std::int64_t hidden = 4096;
  std::int64_t head_count = 32;
  std::int64_t kv_head_count = 8;
  std::int64_t head_size = 128;
  std::int64_t feed_forward = 14336;
  std::int64_t vocabulary = 128256;
  std::int64_t max_sequence = 8192;
};

/// Embedding, `block_count` blocks, untied head.
Model llama_of(const ModelSizes& sizes);

/// Llama 3.1 405B: 126 blocks.
Model llama_405b();

/// 61 blocks of two kinds in DeepSeek-V3's order, 3 and 58, and of about its sizes; where it has
/// routed experts, the feed-forward is a third wider instead: the costs differ, as they do there.
Model mixed_61_layers();

struct EstimatedProfileOptions {
  std::string device = "h100-sxm";
  Cluster cluster{1, 8};
  std::vector<int> micro_batches{1, 2, 4, 8};
  std::vector<std::int64_t> sequences{4096};
};

/// With the tensor-parallel degrees up to 8 that divide the model.
Profile estimated_profile(const Model& model, const EstimatedProfileOptions& options = {});

}  // namespace ppplan::testing
