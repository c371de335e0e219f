// Visits the actions of a schedule in an order that respects every dependency. The checker, the
// lowering and the simulator share it.
#pragma once

#include "planner/schedule/schedule.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ppplan::planner {

inline bool is_communication(ActionKind kind) {
  return kind >= ActionKind::kSendActivation;
}
inline bool is_send(ActionKind kind) {
  return kind == ActionKind::kSendActivation || kind == ActionKind::kSendGradient;
}
/// Full and input-gradient backwards: the ones whose result the previous stage waits for.
inline bool makes_gradient(ActionKind kind) {
  return kind == ActionKind::kBackward || kind == ActionKind::kBackwardInput;
}

/// Numbers the results that other stages wait for: activations first, then gradients; results of
/// one stage stand side by side, as a rank produces them.
class ResultIndex {
 public:
  explicit ResultIndex(const Schedule& schedule)
      : stage_count_(static_cast<std::size_t>(schedule.stage_count())),
        micro_batch_count_(static_cast<std::size_t>(schedule.micro_batch_count)) {}

  [[nodiscard]] std::size_t size() const { return 2 * stage_count_ * micro_batch_count_; }
  [[nodiscard]] std::size_t activation(std::int32_t stage, std::int32_t micro_batch) const {
    return static_cast<std::size_t>(stage) * micro_batch_count_ +
           static_cast<std::size_t>(micro_batch);
  }
  [[nodiscard]] std::size_t gradient(std::int32_t stage, std::int32_t micro_batch) const {
    return stage_count_ * micro_batch_count_ + activation(stage, micro_batch);
  }

 private:
  std::size_t stage_count_;
  std::size_t micro_batch_count_;
};

/// The result of another stage that an action needs and the one it makes; kNone where there is
/// none. A weight-gradient backward has neither: its rank's own order serves it.
struct ActionResults {
  static constexpr std::size_t kNone = SIZE_MAX;
  std::size_t needed = kNone;
  std::size_t made = kNone;
};

inline ActionResults results_of(const Action& action, const ResultIndex& index, int stage_count) {
  ActionResults results;
  if (action.kind == ActionKind::kForward) {
    if (action.stage > 0) results.needed = index.activation(action.stage - 1, action.micro_batch);
    results.made = index.activation(action.stage, action.micro_batch);
  } else if (makes_gradient(action.kind)) {
    if (action.stage + 1 < stage_count) {
      results.needed = index.gradient(action.stage + 1, action.micro_batch);
    }
    results.made = index.gradient(action.stage, action.micro_batch);
  }
  return results;
}

/// One action that a walk has come to.
template <typename Result>
struct Step {
  int rank = 0;
  const Action& action;
  Result input;          ///< what visiting the maker of its input gave; Result{} when it needs none
  bool travels = false;  ///< its result goes to another rank
};

/// Calls visit(step) for every action: each rank's in its own order, and each after the action
/// whose result it needs; communication needs nothing here. What visit returns is the input of the
/// action that waits for it: any value but `pending`, which marks what is not made yet. Returns by
/// rank how many actions were reached: fewer than there are when the order is cyclic. A rank runs
/// on until it must wait, and the maker of the awaited result wakes it: O(actions), deterministic.
/// Precondition: stages and micro-batches are in range.
template <typename Result, typename Visit>
std::vector<std::size_t> walk(const Schedule& schedule, const Result pending, Visit&& visit) {
  const ResultIndex index(schedule);
  const std::size_t rank_count = schedule.ranks.size();
  const int stage_count = schedule.stage_count();
  std::vector<Result> made(index.size(), pending);
  std::vector<std::size_t> awaited(rank_count, ActionResults::kNone);  // by rank, one result
  std::vector<std::size_t> reached(rank_count, 0);
  std::vector<int> runnable;
  for (int rank = schedule.rank_count() - 1; rank >= 0; --rank) runnable.push_back(rank);
  while (!runnable.empty()) {
    const int rank = runnable.back();
    runnable.pop_back();
    const std::span<const Action> actions = schedule.ranks[static_cast<std::size_t>(rank)];
    std::size_t position = reached[static_cast<std::size_t>(rank)];
    for (; position < actions.size(); ++position) {
      const Action& action = actions[position];
      const ActionResults results = results_of(action, index, stage_count);
      Result input{};
      if (results.needed != ActionResults::kNone) {
        input = made[results.needed];
        if (input == pending) {
          awaited[static_cast<std::size_t>(rank)] = results.needed;
          break;
        }
      }
      const int user = action.stage + (action.kind == ActionKind::kForward ? 1 : -1);
      const bool used = results.made != ActionResults::kNone && user >= 0 && user < stage_count;
      const int user_rank = used ? schedule.rank_of_stage[static_cast<std::size_t>(user)] : rank;
      const Result result = visit(Step<Result>{rank, action, input, user_rank != rank});
      if (results.made == ActionResults::kNone) continue;
      made[results.made] = result;
      if (user_rank != rank && awaited[static_cast<std::size_t>(user_rank)] == results.made) {
        runnable.push_back(user_rank);
        // Where ranks are many their next actions are in no cache: fetched while this one runs on.
        const auto user_at = static_cast<std::size_t>(user_rank);
        __builtin_prefetch(schedule.ranks[user_at].data() + reached[user_at]);
      }
    }
    reached[static_cast<std::size_t>(rank)] = position;
  }
  return reached;
}

}  // namespace ppplan::planner
