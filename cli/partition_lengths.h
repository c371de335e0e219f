// ppplan partition --lengths: micro-batches of samples of different lengths.
#pragma once

#include "planner/partition.h"
#include "reports/documents/profile.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::cli {

/// As the command line gives it; empty and absent is "not given".
struct LengthsQuestion {
  std::string file;
  std::string column;
  std::string batching;
  std::string memory_pool;
  std::optional<std::int64_t> max_tokens;
  std::optional<std::int64_t> longest;  ///< samples are cut to it
  std::optional<int> batch_count;

  /// An option of lengths that was given although --lengths was not; nullptr when none was.
  [[nodiscard]] const char* option_without_lengths() const;
};

/// The samples of a file of lengths.
struct SampleLengths {
  std::vector<std::int64_t> lengths;
  std::int64_t cut_count = 0;  ///< cut to --max-sequence-length

  /// Tokens a sample that the cut is planned for: the longest, within what the profile measured.
  [[nodiscard]] std::int64_t planned_sequence(const Profile& profile) const;
};

/// Declares the options of samples of different lengths.
void add_lengths_options(CLI::App& verb, LengthsQuestion& question);

/// Reads --lengths; empty when it is not given. Throws Error(kBadInput).
std::optional<SampleLengths> read_samples(const LengthsQuestion& question);

/// Sets planned.plan.batching. Throws Error: kBadInput as choose_batching does, kNoPlan when no
/// batching fits.
void plan_batching(planner::Planned& planned, const Profile& profile, const SampleLengths& samples,
                   const LengthsQuestion& question);

}  // namespace ppplan::cli
