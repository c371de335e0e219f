#include "planner/schedule/lowering.h"

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
  std::vector<Slot> made(ResultIndex(schedule).size());
  std::vector<Slot> free(schedule.ranks.size(), 0);
  walk(schedule, [&](int rank_index, const Action& action, const ActionResults& results) {
    const auto rank = static_cast<std::size_t>(rank_index);
    Slot start = free[rank];
    if (results.needed != ActionResults::kNone) start = std::max(start, made[results.needed]);
    run.starts[rank].push_back(start);
    const Slot finish = start + (action.kind == ActionKind::kBackward ? 2 : 1);
    free[rank] = finish;
    if (results.made == ActionResults::kNone) return;
    made[results.made] = finish;
    const bool onwards = action.kind == ActionKind::kForward;
    if (!apart(schedule, action.stage, action.stage + (onwards ? 1 : -1))) return;
    const ActionKind kind = onwards ? ActionKind::kSendActivation : ActionKind::kSendGradient;
    run.transfers.push_back(
        {finish, rank_index % 2 == 1, {kind, false, action.stage, action.micro_batch}});
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
