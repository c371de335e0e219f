// Chooses how a step's samples of different lengths become micro-batches, for a plan's cut.
#pragma once

#include "planner/partition.h"
#include "reports/documents/batching.h"
#include "reports/documents/profile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ppplan::planner {

/// What is asked. An empty optional leaves the choice to the planner.
struct BatchingQuestion {
  std::int64_t global_batch = 0;           ///< samples a step, at most kMostBatchedSamples
  std::optional<BatchingMethod> method{};  ///< the others are compared all the same
  /// Padded tokens of a micro-batch; a longer sample is alone.
  std::optional<std::int64_t> max_tokens{};
  std::optional<int> micro_batch{};  ///< samples, with method padded
  MemoryPool memory_pool = MemoryPool::kDynamic;
  /// Sampled steps, 1 to kMostBatches; 50 when empty, down to 8 for steps of thousands of samples.
  std::optional<int> batch_count{};
  std::uint64_t seed = 1;
};

inline constexpr std::int64_t kMostBatchedSamples = 16'384;
inline constexpr int kMostBatches = 10'000;

/// No batching fits, or not the one asked for.
struct Unbatchable {
  std::string reason;                 ///< one line, lower case; names the rank and the bytes
  std::vector<std::string> remedies;  ///< what may help, each alone
};

/// Compares the methods over batches sampled from `lengths`, each with the micro-batch size,
/// buckets or token budget that makes its steps fastest, and gives the fastest that fits, or the
/// one asked for. Every candidate is judged by simulating the plan's schedule with each
/// micro-batch's own times; then the order of micro-batches is chosen the same way. Memory is that
/// of micro-batch x longest: the fullest moment over the sampled batches and over the batch of the
/// longest samples, with the question's pool. Throws Error(kBadInput) when the longest sample or
/// the budget lies beyond what was measured, or the plan's order of actions serves one number of
/// micro-batches only. Deterministic. O(candidates x (batch making + simulation) x batches); about
/// ten candidates a method are tried on eight of the batches.
std::variant<Batching, Unbatchable> choose_batching(const Profile& profile, const Planned& planned,
                                                    const std::vector<std::int64_t>& lengths,
                                                    const BatchingQuestion& question);

/// The lengths with those beyond `longest` cut to it, and how many those are.
struct CutLengths {
  std::vector<std::int64_t> lengths;
  std::int64_t cut_count = 0;
};
CutLengths cut_to(std::vector<std::int64_t> lengths, std::int64_t longest);

}  // namespace ppplan::planner
