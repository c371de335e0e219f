// What is asked of the planner, checked and completed; and the cost basis of every size it may
// choose.
#pragma once

#include "planner/candidate.h"
#include "planner/partition.h"
#include "reports/documents/error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::planner {

/// The longest schedule that is planned: actions of all ranks.
inline constexpr std::int64_t kPlannedActionLimit = 2'000'000;

/// PartitionOptions with every contradiction refused and the sequence chosen.
struct Question {
  const Profile* profile = nullptr;
  std::vector<int> rank_counts;
  std::optional<int> virtual_count;  ///< stages a rank
  std::int64_t global_batch = 0;
  std::optional<int> micro_batch;
  std::int64_t sequence = 0;
  std::optional<Bytes> memory;
  std::vector<std::string> schedules;  ///< named ones
  /// Named schedules whose cuts synthesized ones are made for; empty where none is asked.
  std::vector<std::string> drafts;
  std::vector<LayerPin> pins;
  std::vector<int> layer_counts;
};

/// What can be planned of one basis.
struct Offer {
  std::vector<Candidate> candidates;
  std::optional<Error> refusal;  ///< why the last of the schedules left out cannot serve
};

/// Throws Error(kBadInput) as partition does. `profile` must outlive the result.
Question ask(const Profile& profile, const PartitionOptions& options);

/// Memory limits by rank.
std::vector<Bytes> allowed_memory(const Question& question, int rank_count);

/// Cost bases of every micro-batch size that can be planned, rising. Throws Error(kBadInput) when
/// there is none, saying what was measured.
std::vector<std::shared_ptr<const CostBasis>> cost_bases(const Question& question, int rank_count);

/// The candidates of one basis, in the order of the question's schedules. One that cannot serve the
/// shape, or not with the stages a rank, pins and counts that are asked, is left out.
Offer offer(const Question& question, const std::shared_ptr<const CostBasis>& basis,
            int rank_count);

/// No plan of this basis is faster, whatever the cut and schedule: work spread evenly over the
/// ranks, or one micro-batch's way through all layers, which meets every rank. O(1).
Seconds cheap_bound(const CostBasis& basis, int rank_count);

}  // namespace ppplan::planner
