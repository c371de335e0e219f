// What is asked of the planner, checked and completed; and the cost basis of every size it may
// choose.
#pragma once

#include "planner/candidate.h"
#include "planner/cost_book.h"
#include "planner/partition.h"
#include "reports/documents/error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::planner {

/// The longest schedule that is planned: actions of all ranks.
inline constexpr std::int64_t kPlannedActionLimit = 2'000'000;

/// A layout on so many pipeline ranks, and which devices those are.
struct PipelineShape {
  Layout layout;
  int rank_count = 1;
  /// By rank: index of Profile::devices; empty: in the profile's order, the last one repeated (one
  /// pipeline), or the cluster's nodes one after the other.
  std::vector<int> devices{};
  [[nodiscard]] int device_count() const { return layout.device_count() * rank_count; }
  bool operator==(const PipelineShape&) const = default;
};

/// PartitionOptions with every contradiction refused and the sequence chosen.
struct Question {
  const Profile* profile = nullptr;
  std::vector<PipelineShape> shapes;
  std::optional<int> virtual_count;  ///< stages a rank
  std::int64_t global_batch = 0;
  std::optional<int> micro_batch;
  std::int64_t sequence = 0;
  std::optional<Bytes> memory;
  Bytes reserve{0};
  std::vector<std::string> schedules;  ///< named ones
  /// Named schedules whose cuts synthesized ones are made for; empty where none is asked.
  std::vector<std::string> drafts;
  std::vector<LayerPin> pins;
  std::vector<int> layer_counts;
  bool forward_only = false;
  Recompute recompute = Recompute::kFull;  ///< the most that is allowed
  std::vector<std::int64_t> chunks{0};     ///< sizes of recomputed pieces to try
  std::shared_ptr<CostBook> book;          ///< of this profile and sequence

  [[nodiscard]] int devices_per_node() const;
};

/// One size of a question: a shape, a size of recomputed pieces and a micro-batch size. No plan of
/// it is faster than `bound`.
struct Size {
  PipelineShape shape;
  std::int64_t chunk = 0;
  int micro_batch = 0;
  Seconds bound{0};
};

/// What can be planned of one basis.
struct Offer {
  std::vector<Candidate> candidates;
  std::optional<Error> refusal;  ///< why the last of the schedules left out cannot serve
};

/// Throws Error(kBadInput) as partition does. `profile` must outlive the result.
Question ask(const Profile& profile, const PartitionOptions& options);

/// Every size that can be planned, cheapest bound first. Throws Error(kBadInput) when there is
/// none, saying what was measured.
std::vector<Size> sizes_of(const Question& question);
/// Of one shape, by rising micro-batch.
std::vector<Size> sizes_of(const Question& question, const PipelineShape& shape);

/// No plan of this size is faster, whatever the cut and schedule. O(1).
Seconds cheap_bound(const Question& question, const Size& size);

/// What the roomiest device allows a rank.
Bytes allowed_memory(const Question& question);

std::shared_ptr<const CostBasis> make_basis(const Question& question, const Size& size);

/// The candidates of one basis, in the order of the question's schedules. One that cannot serve the
/// shape, or not with the stages a rank, pins and counts that are asked, is left out.
Offer offer(const Question& question, const std::shared_ptr<const CostBasis>& basis);

}  // namespace ppplan::planner
