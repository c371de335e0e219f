// What the generators of V-placed schedules share: two stages a rank, counted one by one.
#pragma once

#include "planner/schedule/generators.h"

#include <array>
#include <cstddef>

namespace ppplan::planner {

/// The most ranks of a pattern that needs twice as many micro-batches to unfold, six actions each:
/// a thousand million actions, seconds.
inline constexpr int kMostUnfoldedRanks = 9'000;

/// The same answer from all such patterns.
Unschedulable too_many_ranks(const ScheduleShape& shape);

/// Appends one rank's actions, counting the micro-batches of each stage and kind; those from the
/// schedule's micro-batch count on are counted but left out. What is left keeps its order, and so
/// cannot deadlock if the whole could not: micro-batches depend on each other only through ranks.
/// Chunk 0 is the rank's stage on the way down, chunk 1 the one on the way up.
class VRank {
 public:
  VRank(Schedule& schedule, int rank)
      : actions_(schedule.ranks[static_cast<std::size_t>(rank)]),
        micro_batch_count_(schedule.micro_batch_count),
        stages_{rank, schedule.stage_count() - 1 - rank} {}

  void forward(int chunk) { append(ActionKind::kForward, chunk, forwards_); }
  void backward(int chunk) {
    append(ActionKind::kBackward, chunk, inputs_);
    ++weights_[static_cast<std::size_t>(chunk)];
  }
  void input(int chunk) { append(ActionKind::kBackwardInput, chunk, inputs_); }
  void weight(int chunk) { append(ActionKind::kBackwardWeight, chunk, weights_); }
  /// Forward and full backward as one overlapped pair.
  void pair(int forward_chunk, int backward_chunk) {
    const std::size_t position = actions_.size();
    forward(forward_chunk);
    backward(backward_chunk);
    if (actions_.size() == position + 2) actions_[position].overlapped = true;
  }

  [[nodiscard]] int forwards(int chunk) const { return forwards_[static_cast<std::size_t>(chunk)]; }
  [[nodiscard]] int inputs(int chunk) const { return inputs_[static_cast<std::size_t>(chunk)]; }
  [[nodiscard]] int weights(int chunk) const { return weights_[static_cast<std::size_t>(chunk)]; }

 private:
  using Counts = std::array<int, 2>;

  void append(ActionKind kind, int chunk, Counts& counts) {
    const auto at = static_cast<std::size_t>(chunk);
    const int micro_batch = counts[at]++;
    if (micro_batch < micro_batch_count_) {
      actions_.push_back({kind, false, stages_[at], micro_batch});
    }
  }

  std::vector<Action>& actions_;
  int micro_batch_count_;
  Counts stages_;
  Counts forwards_{};
  Counts inputs_{};
  Counts weights_{};
};

}  // namespace ppplan::planner
