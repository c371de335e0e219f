// Makes an order by letting time run: whenever a rank is free it takes the most urgent action that
// is ready and for which it has memory. Base of the schedules without a closed form.
#pragma once

#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"

#include <optional>
#include <vector>

namespace ppplan::planner {

/// What a free rank may choose.
enum class Choice {
  kMostUrgentReady,  ///< of the actions whose inputs have arrived
  kStrictlyInOrder   ///< the most urgent of all it still has to do: it waits for that one
};

enum class BackwardForm { kFull, kSplit };

struct ListRules {
  /// Urgency by stage: the smaller the key, the earlier. A micro-batch adds `interval` to the keys
  /// of the one before. Weight gradients have none: they fill the time in which a rank would wait.
  std::vector<double> forward_key;
  std::vector<double> backward_key;
  double interval = 0.0;
  Choice choice = Choice::kMostUrgentReady;
  BackwardForm backward = BackwardForm::kSplit;
  std::vector<int> most_held;  ///< by stage: micro-batches forwarded and not yet released
  std::vector<Bytes> limits;   ///< by rank: saved, pending and transient bytes; empty: none
};

struct ListResult {
  Schedule schedule;
  Seconds makespan{0};
};

/// The order made for the placement and micro-batch count of `frame` (whose actions are not read),
/// and its makespan under `costs`. Empty when a rank's limit leaves it stuck. A rank keeps room for
/// one micro-batch in each of its later stages, so that limits which hold one of each never do
/// that. Deterministic. O(actions * (stages a rank + log actions)).
std::optional<ListResult> list_schedule(const Schedule& frame, const ScheduleCosts& costs,
                                        const ListRules& rules);

}  // namespace ppplan::planner
