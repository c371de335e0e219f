#include "planner/schedule/checker.h"

#include "planner/schedule/blocking.h"
#include "planner/schedule/communication.h"
#include "planner/schedule/text.h"
#include "planner/schedule/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ppplan::planner {
namespace {

using Fault = std::optional<ScheduleFault>;

constexpr std::uint8_t bit(ActionKind kind) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
}
constexpr std::uint8_t kAnyGradient = bit(ActionKind::kBackward) | bit(ActionKind::kBackwardInput);

/// Counts fit each other: every stage on a rank that exists, no more stages and micro-batches than
/// the actions could serve (which also bounds the memory of what follows).
Fault check_counts(const Schedule& schedule) {
  std::int64_t action_count = 0;
  for (const std::vector<Action>& actions : schedule.ranks) action_count += std::ssize(actions);
  if (schedule.ranks.empty() || schedule.rank_of_stage.empty() || schedule.micro_batch_count < 1) {
    return ScheduleFault{0, 0, "expected at least one rank, stage and micro-batch"};
  }
  for (const int rank : schedule.rank_of_stage) {
    if (rank < 0 || rank >= schedule.rank_count()) {
      return ScheduleFault{0, 0, fmt::format("a stage stands on rank {}, which is none", rank)};
    }
  }
  if (std::int64_t{schedule.stage_count()} * schedule.micro_batch_count > action_count) {
    return ScheduleFault{
        0, 0,
        fmt::format("{} actions cannot serve {} stages and {} micro-batches", action_count,
                    schedule.stage_count(), schedule.micro_batch_count)};
  }
  return std::nullopt;
}

/// What each (stage, micro-batch) has seen so far, one bit a kind of action, and the rules that an
/// action must keep on its own rank.
class RankRules {
 public:
  explicit RankRules(const Schedule& schedule)
      : schedule_(schedule),
        communicates_(has_communication(schedule)),
        seen_(static_cast<std::size_t>(schedule.stage_count()) *
              static_cast<std::size_t>(schedule.micro_batch_count)) {}

  /// Takes the action; says what is wrong with its place, or nothing.
  std::string take(const Action& action, int rank) {
    if (action.stage < 0 || action.stage >= schedule_.stage_count() || action.micro_batch < 0 ||
        action.micro_batch >= schedule_.micro_batch_count) {
      return "no such stage or micro-batch";
    }
    if (rank_at(schedule_, action.stage) != rank) {
      return fmt::format("stage {} stands on rank {}", action.stage,
                         schedule_.rank_of_stage[static_cast<std::size_t>(action.stage)]);
    }
    std::uint8_t& seen = seen_[index_of(action.stage, action.micro_batch)];
    if (seen & bit(action.kind)) return "already stands before";
    std::string wrong = is_communication(action.kind) ? wrong_communication(action, seen)
                                                      : wrong_compute(action, seen);
    seen |= bit(action.kind);
    return wrong;
  }

  /// The first action that a (stage, micro-batch) still lacks.
  [[nodiscard]] std::optional<Action> missing(std::int32_t stage, std::int32_t micro_batch) const {
    const std::uint8_t seen = seen_[index_of(stage, micro_batch)];
    const auto lacks = [&](ActionKind kind) { return (seen & bit(kind)) == 0; };
    const auto action = [&](ActionKind kind) { return Action{kind, false, stage, micro_batch}; };
    if (lacks(ActionKind::kForward)) return action(ActionKind::kForward);
    const bool trains = schedule_.name != kForwardOnly;
    if (trains && lacks(ActionKind::kBackward)) {
      if (lacks(ActionKind::kBackwardInput)) return action(ActionKind::kBackward);
      if (lacks(ActionKind::kBackwardWeight)) return action(ActionKind::kBackwardWeight);
    }
    if (!communicates_) return std::nullopt;
    if (apart(schedule_, stage, stage + 1) && lacks(ActionKind::kSendActivation)) {
      return action(ActionKind::kSendActivation);
    }
    if (trains && apart(schedule_, stage, stage - 1) && lacks(ActionKind::kSendGradient)) {
      return action(ActionKind::kSendGradient);
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t index_of(std::int32_t stage, std::int32_t micro_batch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(schedule_.micro_batch_count) +
           static_cast<std::size_t>(micro_batch);
  }

  [[nodiscard]] std::string wrong_compute(const Action& action, std::uint8_t seen) const {
    const bool split = (seen & bit(ActionKind::kBackwardInput)) != 0;
    const bool forwarded = (seen & bit(ActionKind::kForward)) != 0;
    switch (action.kind) {
      case ActionKind::kForward:
        return lacks_input(action, action.stage - 1, ActionKind::kReceiveActivation, seen);
      case ActionKind::kBackward:
      case ActionKind::kBackwardInput:
        if (!forwarded) return "stands before its forward";
        if (seen & (kAnyGradient | bit(ActionKind::kBackwardWeight))) {
          return "a second backward: either B, or I and W";
        }
        return lacks_input(action, action.stage + 1, ActionKind::kReceiveGradient, seen);
      default:
        if (seen & bit(ActionKind::kBackward)) return "a second backward: either B, or I and W";
        return split ? "" : "stands before its input-gradient backward";
    }
  }

  /// With communication, what comes from another rank must have been received.
  [[nodiscard]] std::string lacks_input(const Action& action, std::int32_t from, ActionKind receive,
                                        std::uint8_t seen) const {
    if (!communicates_ || !apart(schedule_, action.stage, from) || (seen & bit(receive))) return {};
    return fmt::format("stands before {}",
                       to_text({receive, false, action.stage, action.micro_batch}));
  }

  [[nodiscard]] std::string wrong_communication(const Action& action, std::uint8_t seen) const {
    if (!apart(schedule_, action.stage, peer_stage(action))) {
      return "there is no other rank at its far end";
    }
    if (action.kind == ActionKind::kSendActivation && !(seen & bit(ActionKind::kForward))) {
      return "stands before the forward whose output it sends";
    }
    if (action.kind == ActionKind::kSendGradient && !(seen & kAnyGradient)) {
      return "stands before the backward whose gradient it sends";
    }
    return {};
  }

  const Schedule& schedule_;
  bool communicates_;
  std::vector<std::uint8_t> seen_;
};

/// An overlapped pair is a forward followed by a backward that opens no pair itself.
bool opens_no_pair(std::span<const Action> actions, std::size_t position) {
  if (!actions[position].overlapped) return false;
  if (position + 1 == actions.size() || actions[position].kind != ActionKind::kForward) return true;
  return !makes_gradient(actions[position + 1].kind) || actions[position + 1].overlapped;
}

Fault check_ranks(const Schedule& schedule) {
  RankRules rules(schedule);
  for (int rank = 0; rank < schedule.rank_count(); ++rank) {
    const std::vector<Action>& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t position = 0; position < actions.size(); ++position) {
      std::string wrong = rules.take(actions[position], rank);
      if (wrong.empty() && opens_no_pair(actions, position)) {
        wrong = "an overlapped pair is a forward and a backward";
      }
      if (wrong.empty()) continue;
      return ScheduleFault{rank, static_cast<int>(position),
                           fmt::format("{}: {}", to_text(actions[position]), wrong)};
    }
  }
  for (int stage = 0; stage < schedule.stage_count(); ++stage) {
    for (int micro_batch = 0; micro_batch < schedule.micro_batch_count; ++micro_batch) {
      const std::optional<Action> missing = rules.missing(stage, micro_batch);
      if (!missing) continue;
      const int rank = schedule.rank_of_stage[static_cast<std::size_t>(stage)];
      const auto end = static_cast<int>(schedule.ranks[static_cast<std::size_t>(rank)].size());
      return ScheduleFault{rank, end, fmt::format("{} is missing", to_text(*missing))};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ScheduleFault> check(const Schedule& schedule) {
  if (Fault fault = check_counts(schedule)) return fault;
  if (Fault fault = check_ranks(schedule)) return fault;
  enum class Result : std::uint8_t { kPending, kMade };
  const auto make = [](const Step<Result>&) { return Result::kMade; };
  if (Fault fault = describe_deadlock(schedule, walk(schedule, Result::kPending, make))) {
    return fault;
  }
  if (!has_communication(schedule)) return std::nullopt;
  Fault fault = check_blocking_sends(schedule, Exchanges::kAsWritten);
  if (fault) {
    fault->hint = check_blocking_sends(schedule, Exchanges::kEvenOdd)
                      ? "leave the sends and receives out: ppplan places them so that this runs"
                      : "it runs when, between computations, even ranks send before they receive "
                        "and odd ranks receive before they send";
  }
  return fault;
}

}  // namespace ppplan::planner
