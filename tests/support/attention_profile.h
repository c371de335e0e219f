// A made-up profile of a transformer whose costs grow with the square of the sequence, as attention
// does: for planning with samples of different lengths.
#pragma once

#include "reports/documents/profile.h"

#include <cstdint>
#include <vector>

namespace ppplan::testing {

struct AttentionOptions {
  int block_count = 8;
  int device_count = 4;
  Bytes device_memory{std::int64_t{1} << 40};
  std::vector<std::int64_t> sequences = {64, 128, 256, 512, 1024, 2048, 4096, 8192};
  std::vector<int> micro_batches = {1, 2, 4, 8, 16, 32, 64};
  std::int64_t most_tokens = 65'536;  ///< of a measured shape
};

/// Forward of one block, of b samples of s tokens: 40 us + 0.67 us b s + 0.055 ns b s^2; backward
/// twice that; saved 70 KB a token.
double block_forward_s(double samples, double length);

/// Gives every row such costs, by the role of its kind: an embedding costs a twentieth of a block,
/// a head two blocks.
void set_attention_costs(Profile& profile);

/// An embedding, equal blocks and a head that costs two of them, on devices joined by a fast link.
Profile attention_profile(const AttentionOptions& options = {});

}  // namespace ppplan::testing
