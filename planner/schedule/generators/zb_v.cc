// ZB-V: two stages a rank in a V, backwards split, a rank's memory that of 1F1B's first rank
// (Qi et al. 2023, "Zero Bubble Pipeline Parallelism", section 6).
#include "planner/schedule/generators/catalogue.h"
#include "planner/schedule/generators/v_shaped.h"

#include <fmt/format.h>

#include <algorithm>

namespace ppplan::planner {
namespace {

void append_rank(Schedule& schedule, int rank, int micro_batch_count) {
  VRank v(schedule, rank);
  const int below = schedule.rank_count() - rank;  // ranks from here to the V's foot
  const auto step = [&v](int chunk) {
    v.input(chunk);
    v.weight(chunk);
  };
  for (int pass = 0; pass < 2 * below - 1; ++pass) v.forward(0);
  for (int pass = 0; pass < rank; ++pass) {
    v.forward(1);
    v.forward(0);
  }
  for (int pass = 0; pass < below; ++pass) {
    v.forward(1);
    step(1);
  }
  while (v.forwards(1) < micro_batch_count) {
    if (v.forwards(0) < micro_batch_count) v.forward(0);
    step(0);
    v.forward(1);
    step(1);
  }
  // Drain: input gradients are waited for elsewhere, so they go first.
  for (int pass = 0; pass < rank; ++pass) {
    v.input(0);
    v.input(1);
  }
  for (int pass = 0; pass < below; ++pass) step(0);
  while (v.weights(1) < micro_batch_count) v.weight(1);
  while (v.weights(0) < micro_batch_count) v.weight(0);
}

}  // namespace

Unschedulable too_many_ranks(const ScheduleShape& shape) {
  return {
      fmt::format("the pattern unfolds over twice as many micro-batches as ranks, too many of "
                  "{} ranks; the next legal number of ranks is {}",
                  shape.rank_count, kMostUnfoldedRanks)};
}

std::variant<Schedule, Unschedulable> zero_bubble_v(const ScheduleShape& shape) {
  if (shape.rank_count > kMostUnfoldedRanks) return too_many_ranks(shape);
  Schedule schedule = empty_schedule("zb-v", shape, 2, Placement::kV);
  // The pattern needs 2p - 1 micro-batches to unfold; of fewer the surplus is left out again.
  const int unfolded = std::max(shape.micro_batch_count, 2 * shape.rank_count - 1);
  for (int rank = 0; rank < shape.rank_count; ++rank) append_rank(schedule, rank, unfolded);
  return schedule;
}

}  // namespace ppplan::planner
