// Who sends to whom: the far end of a communication action. Shared by lowering and checker.
#pragma once

#include "planner/schedule/schedule.h"

#include <cstddef>
#include <optional>

namespace ppplan::planner {

/// The rank of the stage; empty when there is no such stage (before the first, after the last).
inline std::optional<int> rank_at(const Schedule& schedule, std::int32_t stage) {
  if (stage < 0 || stage >= schedule.stage_count()) return std::nullopt;
  return schedule.rank_of_stage[static_cast<std::size_t>(stage)];
}

/// True when both stages exist and stand on different ranks.
inline bool apart(const Schedule& schedule, std::int32_t stage, std::int32_t other) {
  const std::optional<int> rank = rank_at(schedule, stage);
  const std::optional<int> other_rank = rank_at(schedule, other);
  return rank && other_rank && *rank != *other_rank;
}

/// The stage at the other end of a send or receive.
inline std::int32_t peer_stage(const Action& action) {
  const bool downstream =
      action.kind == ActionKind::kSendActivation || action.kind == ActionKind::kReceiveGradient;
  return action.stage + (downstream ? 1 : -1);
}

/// The receive that takes a send, the send that a receive waits for.
inline Action counterpart(const Action& action) {
  ActionKind kind = ActionKind::kSendActivation;
  switch (action.kind) {
    case ActionKind::kSendActivation:
      kind = ActionKind::kReceiveActivation;
      break;
    case ActionKind::kSendGradient:
      kind = ActionKind::kReceiveGradient;
      break;
    case ActionKind::kReceiveGradient:
      kind = ActionKind::kSendGradient;
      break;
    default:
      break;
  }
  return {kind, false, peer_stage(action), action.micro_batch};
}

}  // namespace ppplan::planner
