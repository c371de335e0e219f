// What is asked of the planner, checked and completed; and the cost basis of every size it may
// choose.
#pragma once

#include "planner/candidate.h"
#include "planner/partition.h"

#include <memory>
#include <vector>

namespace ppplan::planner {

/// The longest schedule that is planned: actions of all ranks.
inline constexpr std::int64_t kPlannedActionLimit = 2'000'000;

/// PartitionOptions with every contradiction refused and the sequence chosen.
struct Question {
  const Profile* profile = nullptr;
  std::vector<int> stage_counts;
  std::int64_t global_batch = 0;
  std::optional<int> micro_batch;
  std::int64_t sequence = 0;
  std::optional<Bytes> memory;
  std::vector<std::string> schedules;
};

/// Throws Error(kBadInput) as partition does. `profile` must outlive the result.
Question ask(const Profile& profile, const PartitionOptions& options);

/// Memory limits by rank.
std::vector<Bytes> allowed_memory(const Question& question, int stage_count);

/// Cost bases of every micro-batch size that can be planned, rising. Throws Error(kBadInput) when
/// there is none, saying what was measured.
std::vector<std::shared_ptr<const CostBasis>> cost_bases(const Question& question, int stage_count);

/// The candidates of one basis, in the order of the question's schedules. A schedule that cannot
/// serve the shape is left out.
std::vector<Candidate> candidates(const Question& question,
                                  const std::shared_ptr<const CostBasis>& basis, int stage_count);

/// No plan of this basis is faster, whatever the cut and schedule: work spread evenly over the
/// ranks, or one micro-batch's way through all layers. O(1).
Seconds cheap_bound(const CostBasis& basis, int stage_count);

}  // namespace ppplan::planner
