// Follows what each rank holds along its own order of actions (memory_peaks of simulator.h,
// memory_timeline of analysis.h).
#include "planner/schedule/analysis.h"
#include "planner/schedule/simulator.h"
#include "planner/schedule/walk.h"

#include <algorithm>
#include <cstddef>

namespace ppplan::planner {
namespace {

const StageCost& cost_of(const ScheduleCosts& costs, std::int32_t stage, std::int32_t micro_batch) {
  const int class_index = costs.class_of_micro_batch[static_cast<std::size_t>(micro_batch)];
  return costs.stages[static_cast<std::size_t>(stage)][static_cast<std::size_t>(class_index)];
}

/// One rank's memory as its actions pass.
class RankLevel {
 public:
  RankLevel(const Schedule& schedule, const ScheduleCosts& costs)
      : schedule_(schedule), costs_(costs) {}

  /// Runs the action; gives the fullest moment while it runs.
  RankMemory pass(const Action& action) {
    during_ = {};
    const StageCost& cost = cost_of(costs_, action.stage, action.micro_batch);
    const int last_stage = schedule_.stage_count() - 1;
    switch (action.kind) {
      case ActionKind::kForward:
        ++in_flight_;
        record(cost.forward_peak, Bytes{0});
        activations_ += cost.saved;
        sent_ = travels(action.stage, action.stage + 1) ? cost.output : Bytes{0};
        break;
      case ActionKind::kBackward:
      case ActionKind::kBackwardInput: {
        record(cost.backward_peak, action.stage < last_stage ? cost.output : Bytes{0});
        if (action.kind == ActionKind::kBackward) {
          --in_flight_;
          activations_ -= cost.saved;
        } else {
          activations_ += cost.weight_pending;
        }
        const bool sends = travels(action.stage, action.stage - 1);
        sent_ = sends ? cost_of(costs_, action.stage - 1, action.micro_batch).output : Bytes{0};
        break;
      }
      case ActionKind::kBackwardWeight:
        record(Bytes{0}, Bytes{0});
        --in_flight_;
        activations_ -= cost.saved + cost.weight_pending;
        break;
      default:
        break;
    }
    record(Bytes{0}, Bytes{0});
    return during_;
  }

  [[nodiscard]] const RankMemory& peak() const { return peak_; }

 private:
  [[nodiscard]] bool travels(int stage, int user) const {
    if (user < 0 || user >= schedule_.stage_count()) return false;
    const std::vector<int>& ranks = schedule_.rank_of_stage;
    return ranks[static_cast<std::size_t>(stage)] != ranks[static_cast<std::size_t>(user)];
  }

  void record(Bytes transient, Bytes received) {
    peak_.in_flight = std::max(peak_.in_flight, in_flight_);
    RankMemory now{activations_, transient, sent_ + received, in_flight_};
    if (now.total() >= during_.total()) during_ = now;
    now.in_flight = peak_.in_flight;
    if (now.total() > peak_.total()) peak_ = now;
  }

  const Schedule& schedule_;
  const ScheduleCosts& costs_;
  Bytes activations_;
  Bytes sent_;  ///< what the last action sent: it may still be on its way during the next one
  int in_flight_ = 0;
  RankMemory during_;
  RankMemory peak_;
};

}  // namespace

RankMemory memory_peak(const Schedule& schedule, const ScheduleCosts& costs, int rank) {
  RankLevel level(schedule, costs);
  for (const Action& action : schedule.ranks[static_cast<std::size_t>(rank)]) {
    if (!is_communication(action.kind)) level.pass(action);
  }
  return level.peak();
}

std::vector<RankMemory> memory_peaks(const Schedule& schedule, const ScheduleCosts& costs) {
  std::vector<RankMemory> peaks;
  for (int rank = 0; rank < schedule.rank_count(); ++rank) {
    peaks.push_back(memory_peak(schedule, costs, rank));
  }
  return peaks;
}

std::vector<std::vector<MemorySample>> memory_timeline(const Schedule& schedule,
                                                       const ScheduleCosts& costs,
                                                       const Timeline& timeline) {
  std::vector<std::vector<MemorySample>> samples;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    RankLevel level(schedule, costs);
    std::vector<MemorySample>& of_rank = samples.emplace_back();
    of_rank.reserve(timeline.ranks[rank].size());
    for (std::size_t position = 0; position < timeline.ranks[rank].size(); ++position) {
      const Action& action = schedule.ranks[rank][position];
      if (is_communication(action.kind)) continue;
      const auto& [start, finish] = timeline.ranks[rank][position];
      of_rank.push_back({start, finish, level.pass(action)});
    }
  }
  return samples;
}

std::vector<std::vector<HeldStep>> in_flight_timeline(const Schedule& schedule,
                                                      const Timeline& timeline) {
  std::vector<std::vector<HeldStep>> ranks;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::vector<HeldStep>& steps = ranks.emplace_back(1);
    const auto change = [&](Seconds at, int by) {
      const int in_flight = steps.back().in_flight + by;
      if (at > steps.back().from) {
        steps.push_back({at, in_flight});
      } else {
        steps.back().in_flight = in_flight;
      }
      const std::size_t count = steps.size();
      if (count > 1 && steps[count - 2].in_flight == in_flight) steps.pop_back();
    };
    for (std::size_t position = 0; position < timeline.ranks[rank].size(); ++position) {
      const ActionKind kind = schedule.ranks[rank][position].kind;
      const auto& [start, finish] = timeline.ranks[rank][position];
      if (kind == ActionKind::kForward) change(start, 1);
      if (kind == ActionKind::kBackward || kind == ActionKind::kBackwardWeight) change(finish, -1);
    }
  }
  return ranks;
}

}  // namespace ppplan::planner
