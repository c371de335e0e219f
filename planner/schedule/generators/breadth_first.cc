// Schedules that do all of one thing before the next.
#include "planner/schedule/generators/catalogue.h"

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

Schedule forward_only(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule(std::string(kForwardOnly), shape, 1, Placement::kLoop);
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    std::vector<Action>& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    for (int micro_batch = 0; micro_batch < shape.micro_batch_count; ++micro_batch) {
      actions.push_back({ActionKind::kForward, false, rank, micro_batch});
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

Schedule looped_breadth_first(const ScheduleShape& shape) {
  Schedule schedule = empty_schedule("looped-bfs", shape, shape.virtual_count, Placement::kLoop);
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    std::vector<Action>& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    for (int stage = rank; stage < schedule.stage_count(); stage += shape.rank_count) {
      for (int micro_batch = 0; micro_batch < shape.micro_batch_count; ++micro_batch) {
        actions.push_back({ActionKind::kForward, false, stage, micro_batch});
      }
    }
    for (std::size_t forward = actions.size(); forward-- > 0;) {
      const Action action = actions[forward];
      actions.push_back({ActionKind::kBackward, false, action.stage, action.micro_batch});
    }
  }
  return schedule;
}

}  // namespace ppplan::planner
