#include "executor/rank/batch.h"

#include "reports/documents/error.h"
#include "reports/documents/file.h"

#include <ATen/ATen.h>

namespace ppplan::executor {
namespace {

constexpr std::int64_t kByteValues = 256;

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

}  // namespace

ByteText::ByteText(const std::filesystem::path& file, std::int64_t sequence,
                   std::int64_t vocabulary)
    : text_(read_file(file)), sequence_(sequence) {
  if (static_cast<std::int64_t>(text_.size()) <= sequence) {
    throw Error(Failure::kBadInput,
                file.string() + ": expected more than " + std::to_string(sequence) +
                    " bytes (one sequence), found " + std::to_string(text_.size()),
                "give a longer text with --data, or plan a shorter sequence");
  }
  if (vocabulary < kByteValues) {
    throw Error(Failure::kBadInput,
                "the model's vocabulary of " + std::to_string(vocabulary) +
                    " cannot hold bytes (256 values)",
                "run a model with vocab_size >= 256");
  }
}

Batch ByteText::samples(std::uint64_t seed, int step, int first, int count) const {
  Batch batch{at::empty({count, sequence_}, at::TensorOptions(at::kLong)),
              at::empty({count, sequence_}, at::TensorOptions(at::kLong))};
  auto* token = batch.tokens.mutable_data_ptr<std::int64_t>();
  auto* label = batch.labels.mutable_data_ptr<std::int64_t>();
  const std::uint64_t starts = text_.size() - static_cast<std::uint64_t>(sequence_);
  for (int sample = first; sample < first + count; ++sample) {
    const std::uint64_t key =
        mix(mix(seed + 0x9e3779b97f4a7c15ULL) + (static_cast<std::uint64_t>(step) << 32U) +
            static_cast<std::uint64_t>(sample));
    const auto* at = reinterpret_cast<const unsigned char*>(text_.data()) + key % starts;
    for (std::int64_t place = 0; place < sequence_; ++place) {
      *token++ = at[place];
      *label++ = at[place + 1];
    }
  }
  return batch;
}

}  // namespace ppplan::executor
