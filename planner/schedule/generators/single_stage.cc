// Schedules with one stage a rank and a full backward.
#include "planner/schedule/generators/catalogue.h"

#include <algorithm>

namespace ppplan::planner {

Schedule naive(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("naive", shape, 1, Placement::kLoop);
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    std::vector<Action>& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    for (int micro_batch = 0; micro_batch < shape.micro_batch_count; ++micro_batch) {
      actions.push_back({ActionKind::kForward, false, rank, micro_batch});
      actions.push_back({ActionKind::kBackward, false, rank, micro_batch});
    }
  }
  return schedule;
}

Schedule gpipe(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("gpipe", shape, 1, Placement::kLoop);
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    std::vector<Action>& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    for (const ActionKind kind : {ActionKind::kForward, ActionKind::kBackward}) {
      for (int micro_batch = 0; micro_batch < shape.micro_batch_count; ++micro_batch) {
        actions.push_back({kind, false, rank, micro_batch});
      }
    }
  }
  return schedule;
}

// p = 3, m = 4:   rank 0   F0 F1 F2 B0 F3 B1 B2 B3
//                 rank 1      F0 F1 B0 F2 B1 F3 B2 B3
//                 rank 2         F0 B0 F1 B1 F2 B2 F3 B3
Schedule one_forward_one_backward(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("1f1b", shape, 1, Placement::kLoop);
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    std::vector<Action>& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    const int warm_up = std::min(shape.micro_batch_count, shape.rank_count - rank - 1);
    int forward = 0;
    while (forward < warm_up) actions.push_back({ActionKind::kForward, false, rank, forward++});
    for (int backward = 0; backward < shape.micro_batch_count; ++backward) {
      if (forward < shape.micro_batch_count) {
        actions.push_back({ActionKind::kForward, false, rank, forward++});
      }
      actions.push_back({ActionKind::kBackward, false, rank, backward});
    }
  }
  return schedule;
}

}  // namespace ppplan::planner
