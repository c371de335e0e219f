// What the generators of V-placed schedules share: two stages a rank, counted one by one.
#pragma once

#include "planner/schedule/schedule.h"

#include <array>
#include <cstddef>

namespace ppplan::planner {

/// Appends one rank's actions, counting the micro-batches of each stage and kind. Chunk 0 is the
/// rank's stage on the way down, chunk 1 the one on the way up.
class VRank {
 public:
  VRank(Schedule& schedule, int rank)
      : actions_(schedule.ranks[static_cast<std::size_t>(rank)]),
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
    forward(forward_chunk);
    actions_.back().overlapped = true;
    backward(backward_chunk);
  }

  [[nodiscard]] int forwards(int chunk) const { return forwards_[static_cast<std::size_t>(chunk)]; }
  [[nodiscard]] int inputs(int chunk) const { return inputs_[static_cast<std::size_t>(chunk)]; }
  [[nodiscard]] int weights(int chunk) const { return weights_[static_cast<std::size_t>(chunk)]; }

 private:
  using Counts = std::array<int, 2>;

  void append(ActionKind kind, int chunk, Counts& counts) {
    const auto at = static_cast<std::size_t>(chunk);
    actions_.push_back({kind, false, stages_[at], counts[at]++});
  }

  std::vector<Action>& actions_;
  Counts stages_;
  Counts forwards_{};
  Counts inputs_{};
  Counts weights_{};
};

}  // namespace ppplan::planner
