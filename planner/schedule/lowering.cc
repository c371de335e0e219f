#include "planner/schedule/lowering.h"

#include "planner/schedule/blocking.h"
#include "planner/schedule/communication.h"
#include "planner/schedule/walk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppplan::planner {
namespace {

/// Nominal time: a forward takes one slot, as do input and weight gradients.
using Slot = std::int64_t;
constexpr Slot kPending = -1;

/// A tensor that goes from one rank to another in the slot in which it is made.
struct Transfer {
  Slot slot = 0;
  bool from_odd_rank = false;
  Action send;

  auto operator<=>(const Transfer&) const = default;
};

struct NominalRun {
  std::vector<std::vector<Slot>> starts;  ///< by rank, of each compute action
  std::vector<Transfer> transfers;        ///< sorted
};

NominalRun run_nominally(const Schedule& schedule) {
  NominalRun run;
  run.starts.resize(schedule.ranks.size());
  std::vector<Slot> free(schedule.ranks.size(), 0);
  walk(schedule, kPending, [&](const Step<Slot>& step) {
    const auto& [kind, overlapped, stage, micro_batch] = step.action;
    Slot& free_at = free[static_cast<std::size_t>(step.rank)];
    const Slot start = std::max(free_at, step.input);
    run.starts[static_cast<std::size_t>(step.rank)].push_back(start);
    free_at = start + (kind == ActionKind::kBackward ? 2 : 1);
    if (step.travels) {
      const bool onwards = kind == ActionKind::kForward;
      const ActionKind send = onwards ? ActionKind::kSendActivation : ActionKind::kSendGradient;
      run.transfers.push_back({free_at, step.rank % 2 == 1, {send, false, stage, micro_batch}});
    }
    return free_at;
  });
  std::ranges::sort(run.transfers);
  return run;
}

}  // namespace

// All computations and transfers are put in one order by nominal time, in which a transfer is one
// event that appears on both its ranks at once. A rank's list is that order seen from the rank.
// Whatever the real durations are, the earliest event not yet done has all events before it done on
// its ranks, so it can proceed: no deadlock, though each send waits for its receive.
Schedule with_communication(const Schedule& schedule) {
  if (has_communication(schedule)) return schedule;
  const NominalRun run = run_nominally(schedule);
  Schedule lowered = schedule;
  for (std::vector<Action>& actions : lowered.ranks) actions.clear();
  std::vector<std::size_t> copied(schedule.ranks.size(), 0);
  const auto copy_computations = [&](std::size_t rank, Slot before) {
    const std::vector<Slot>& starts = run.starts[rank];
    std::size_t& position = copied[rank];
    for (; position < starts.size() && starts[position] < before; ++position) {
      lowered.ranks[rank].push_back(schedule.ranks[rank][position]);
      lowered.ranks[rank].back().overlapped = false;
    }
  };
  for (const auto& [slot, from_odd_rank, send] : run.transfers) {
    for (const Action& end : {send, counterpart(send)}) {
      const auto rank = static_cast<std::size_t>(*rank_at(schedule, end.stage));
      copy_computations(rank, slot);
      lowered.ranks[rank].push_back(end);
    }
  }
  for (std::size_t rank = 0; rank < lowered.ranks.size(); ++rank) {
    copy_computations(rank, INT64_MAX);
  }
  return lowered;
}

}  // namespace ppplan::planner
