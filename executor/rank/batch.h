// Batches of byte-level text. A sample is a function of (seed, step, place in the batch) alone, so
// that every rank, and the single process, reads the same one without a word between them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace ppplan::executor {

/// tokens and labels, each int64 [B,S]; labels are the tokens one place on.
struct Batch {
  at::Tensor tokens;
  at::Tensor labels;
};

class ByteText {
 public:
  /// Throws Error(kBadInput) when the file holds fewer than `sequence` + 1 bytes, or when the
  /// model's vocabulary has no room for all 256 byte values.
  ByteText(const std::filesystem::path& file, std::int64_t sequence, std::int64_t vocabulary);

  /// Samples [first, first + count) of a step's global batch. Sample i starts at byte
  /// mix(seed, step, i) mod (size - S), mix as in parameter_seed's finalizer.
  [[nodiscard]] Batch samples(std::uint64_t seed, int step, int first, int count) const;

 private:
  std::string text_;
  std::int64_t sequence_;
};

}  // namespace ppplan::executor
