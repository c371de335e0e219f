#include "planner/schedule/blocking.h"

#include "planner/schedule/communication.h"
#include "planner/schedule/text.h"
#include "planner/schedule/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace ppplan::planner {
namespace {

using Fault = std::optional<ScheduleFault>;

/// The action that a blocked compute or communication action waits for.
Action awaited(const Action& action) {
  if (is_communication(action.kind)) return counterpart(action);
  const bool forward = action.kind == ActionKind::kForward;
  return {forward ? ActionKind::kForward : ActionKind::kBackward, false,
          action.stage + (forward ? -1 : 1), action.micro_batch};
}

/// What an action receives before it and sends after it, where other ranks take part.
struct Ends {
  std::optional<Action> receive;
  std::optional<Action> send;
};

Ends ends_of(const Schedule& schedule, const Action& action) {
  const auto& [kind, overlapped, stage, micro_batch] = action;
  const bool forward = kind == ActionKind::kForward;
  if (!forward && !makes_gradient(kind)) return {};
  const std::int32_t onwards = forward ? 1 : -1;
  Ends ends;
  if (apart(schedule, stage, stage - onwards)) {
    ends.receive = {forward ? ActionKind::kReceiveActivation : ActionKind::kReceiveGradient, false,
                    stage, micro_batch};
  }
  if (apart(schedule, stage, stage + onwards)) {
    ends.send = {forward ? ActionKind::kSendActivation : ActionKind::kSendGradient, false, stage,
                 micro_batch};
  }
  return ends;
}

/// One rank's sends and receives, without its computations.
struct RankCommunication {
  std::vector<Action> actions;
  std::vector<std::size_t> group_ends;  ///< a group stands between two computations
};

RankCommunication communication_of(const Schedule& schedule, std::size_t rank, bool written) {
  RankCommunication all;
  for (const Action& action : schedule.ranks[rank]) {
    if (is_communication(action.kind)) {
      all.actions.push_back(action);
      continue;
    }
    const Ends ends = written ? Ends{} : ends_of(schedule, action);
    if (ends.receive) all.actions.push_back(*ends.receive);
    all.group_ends.push_back(all.actions.size());
    if (ends.send) all.actions.push_back(*ends.send);
  }
  all.group_ends.push_back(all.actions.size());
  return all;
}

/// The result that a send or receive carries.
std::size_t carried(const Action& action, const ResultIndex& index) {
  const Action send = is_send(action.kind) ? action : counterpart(action);
  return send.kind == ActionKind::kSendActivation ? index.activation(send.stage, send.micro_batch)
                                                  : index.gradient(send.stage, send.micro_batch);
}

/// Calls visit(rank, group's actions, group's number) for every group; numbers count over ranks.
template <typename Visit>
void for_each_group(std::vector<RankCommunication>& ranks, Visit&& visit) {
  std::size_t number = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::size_t begin = 0;
    for (const std::size_t end : ranks[rank].group_ends) {
      visit(rank, std::span(ranks[rank].actions).subspan(begin, end - begin), number++);
      begin = end;
    }
  }
}

/// Reorders the groups that hold an exchange: a send to, and a receive from, one and the same group
/// of another rank.
void order_even_odd(std::vector<RankCommunication>& ranks, const ResultIndex& index) {
  std::vector<std::size_t> sent_in(index.size());  // by result: the number of the group
  std::vector<std::size_t> received_in(index.size());
  std::size_t group_count = 0;
  for_each_group(ranks, [&](std::size_t, std::span<Action> group, std::size_t number) {
    for (const Action& action : group) {
      (is_send(action.kind) ? sent_in : received_in)[carried(action, index)] = number;
    }
    group_count = number + 1;
  });
  std::vector<std::size_t> sender(group_count, SIZE_MAX);  // the last group that sends to a group
  for_each_group(ranks, [&](std::size_t rank, std::span<Action> group, std::size_t number) {
    if (group.size() < 2) return;
    for (const Action& action : group) {
      if (is_send(action.kind)) sender[received_in[carried(action, index)]] = number;
    }
    const bool exchanges = std::ranges::any_of(group, [&](const Action& action) {
      return !is_send(action.kind) && sender[sent_in[carried(action, index)]] == number;
    });
    const bool odd = rank % 2 == 1;
    const auto goes_first = [&](const Action& action) { return is_send(action.kind) != odd; };
    if (exchanges) std::ranges::stable_partition(group, goes_first);
  });
}

/// Runs the ranks' lists as they stand. An action is looked at when its rank reaches it and when
/// its counterpart's rank does.
Fault run_rendezvous(const Schedule& schedule) {
  std::vector<std::size_t> reached(schedule.ranks.size(), 0);
  std::vector<int> runnable;
  for (int rank = schedule.rank_count() - 1; rank >= 0; --rank) runnable.push_back(rank);
  while (!runnable.empty()) {
    const int rank = runnable.back();
    runnable.pop_back();
    const std::vector<Action>& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    std::size_t& position = reached[static_cast<std::size_t>(rank)];
    for (; position < actions.size(); ++position) {
      const Action& action = actions[position];
      if (!is_communication(action.kind)) continue;
      const int peer = *rank_at(schedule, peer_stage(action));
      const std::vector<Action>& theirs = schedule.ranks[static_cast<std::size_t>(peer)];
      std::size_t& their_position = reached[static_cast<std::size_t>(peer)];
      if (their_position == theirs.size()) break;
      const Action& their_action = theirs[their_position];
      if (their_action != counterpart(action)) {
        if (!is_communication(their_action.kind)) break;
        if (rank_at(schedule, peer_stage(their_action)) != rank) break;
        const char* reason = is_send(action.kind) != is_send(their_action.kind)
                                 ? "sends and receives are not in the same order"
                             : is_send(action.kind) ? "both send and wait for the other to receive"
                                                    : "both wait for the other to send";
        return ScheduleFault{rank, static_cast<int>(position),
                             fmt::format("{}: rank {} is at {}: {}", to_text(action), peer,
                                         to_text(their_action), reason)};
      }
      ++their_position;
      runnable.push_back(peer);
    }
  }
  return describe_deadlock(schedule, reached);
}

}  // namespace

bool has_communication(const Schedule& schedule) {
  return std::ranges::any_of(schedule.ranks, [](const std::vector<Action>& actions) {
    return std::ranges::any_of(actions, [](const Action& a) { return is_communication(a.kind); });
  });
}

Fault describe_deadlock(const Schedule& schedule, const std::vector<std::size_t>& reached) {
  const auto blocked = [&](std::size_t rank) {
    return reached[rank] < schedule.ranks[rank].size();
  };
  std::size_t rank = 0;
  while (rank < reached.size() && !blocked(rank)) ++rank;
  if (rank == reached.size()) return std::nullopt;
  const auto stopped_at = [&](std::size_t at) { return schedule.ranks[at][reached[at]]; };
  const auto next = [&](std::size_t at) {
    const std::int32_t stage = awaited(stopped_at(at)).stage;
    return static_cast<std::size_t>(schedule.rank_of_stage[static_cast<std::size_t>(stage)]);
  };
  for (std::size_t step = 0; step < reached.size(); ++step) rank = next(rank);  // now on the cycle
  std::string message = "deadlock: ";
  constexpr int kMostWaits = 4;
  std::size_t at = rank;
  for (int wait = 0; wait < kMostWaits; ++wait) {
    message += fmt::format("{}{} waits for {} of rank {}", wait == 0 ? "" : ", where ",
                           to_text(stopped_at(at)), to_text(awaited(stopped_at(at))), next(at));
    at = next(at);
    if (at == rank) break;
  }
  if (at != rank) message += ", and so on";
  return ScheduleFault{static_cast<int>(rank), static_cast<int>(reached[rank]), message};
}

Fault check_blocking_sends(const Schedule& schedule, Exchanges exchanges) {
  const bool written = has_communication(schedule);
  if (written && exchanges == Exchanges::kAsWritten) return run_rendezvous(schedule);
  std::vector<RankCommunication> ranks;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    ranks.push_back(communication_of(schedule, rank, written));
  }
  if (exchanges == Exchanges::kEvenOdd) order_even_odd(ranks, ResultIndex(schedule));
  Schedule communication{.name = {},
                         .micro_batch_count = schedule.micro_batch_count,
                         .rank_of_stage = schedule.rank_of_stage,
                         .ranks = {}};
  for (RankCommunication& rank : ranks) communication.ranks.push_back(std::move(rank.actions));
  return run_rendezvous(communication);
}

}  // namespace ppplan::planner
