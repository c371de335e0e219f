#include "planner/schedule/list_scheduler.h"

#include "planner/schedule/walk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace ppplan::planner {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A moment at which a rank may find something to do.
struct Wake {
  double time_s;
  int rank;
  auto operator<=>(const Wake&) const = default;
};

struct RankState {
  std::vector<int> stages;      ///< ascending
  std::vector<Action> pending;  ///< weight gradients, oldest first from `first_pending`
  std::size_t first_pending = 0;
  double free_s = 0.0;
  std::int64_t held_bytes = 0;
};

class ListScheduler {
 public:
  ListScheduler(const Schedule& frame, const ScheduleCosts& costs, const ListRules& rules)
      : costs_(costs),
        rules_(rules),
        index_(frame),
        arrival_s_(index_.size(), kNever),
        ranks_(frame.ranks.size()),
        forwarded_(frame.rank_of_stage.size(), 0),
        backwarded_(forwarded_),
        released_(forwarded_) {
    schedule_ = frame;
    for (std::vector<Action>& actions : schedule_.ranks) actions.clear();
    for (int stage = 0; stage < frame.stage_count(); ++stage) {
      ranks_[rank_of(stage)].stages.push_back(stage);
    }
  }

  std::optional<ListResult> run() {
    for (int rank = 0; rank < schedule_.rank_count(); ++rank) wakes_.push({0.0, rank});
    while (!wakes_.empty()) {
      const Wake wake = wakes_.top();
      wakes_.pop();
      if (ranks_[at(wake.rank)].free_s > wake.time_s) continue;  // woken again when free
      if (const std::optional<Action> action = choose(wake)) start(*action, wake);
    }
    for (const int released : released_) {
      if (released < schedule_.micro_batch_count) return std::nullopt;
    }
    double makespan_s = 0.0;
    for (const RankState& rank : ranks_) makespan_s = std::max(makespan_s, rank.free_s);
    return ListResult{std::move(schedule_), Seconds(makespan_s)};
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  [[nodiscard]] std::size_t rank_of(int stage) const {
    return at(schedule_.rank_of_stage[at(stage)]);
  }
  [[nodiscard]] const StageCost& cost_of(int stage, int micro_batch) const {
    return costs_.stages[at(stage)][at(costs_.class_of_micro_batch[at(micro_batch)])];
  }

  std::optional<Action> choose(const Wake& wake) {
    RankState& rank = ranks_[at(wake.rank)];
    const bool strict = rules_.choice == Choice::kStrictlyInOrder;
    std::optional<Action> best;
    double best_key = kNever;
    const auto consider = [&](const Action& action, double key) {
      if (key >= best_key || !(strict || may_start(action, wake))) return;
      best = action;
      best_key = key;
    };
    for (const int stage : rank.stages) {
      const int forward = forwarded_[at(stage)];
      const int backward = backwarded_[at(stage)];
      if (forward < schedule_.micro_batch_count) {
        consider({ActionKind::kForward, false, stage, forward},
                 rules_.forward_key[at(stage)] + rules_.interval * forward);
      }
      if (backward < (strict ? schedule_.micro_batch_count : forward)) {
        consider({rules_.backward == BackwardForm::kSplit ? ActionKind::kBackwardInput
                                                          : ActionKind::kBackward,
                  false, stage, backward},
                 rules_.backward_key[at(stage)] + rules_.interval * backward);
      }
    }
    if (best && (!strict || may_start(*best, wake))) return best;
    if (rank.first_pending == rank.pending.size()) return std::nullopt;
    return rank.pending[rank.first_pending++];
  }

  [[nodiscard]] bool may_start(const Action& action, const Wake& wake) const {
    const ActionResults results = results_of(action, index_, schedule_.stage_count());
    if (results.needed != ActionResults::kNone && arrival_s_[results.needed] > wake.time_s) {
      return false;
    }
    const bool forward = action.kind == ActionKind::kForward;
    if (!forward && action.micro_batch >= forwarded_[at(action.stage)]) return false;
    if (forward && held(action.stage) >= rules_.most_held[at(action.stage)]) return false;
    if (rules_.limits.empty()) return true;
    const RankState& rank = ranks_[at(wake.rank)];
    const StageCost& cost = cost_of(action.stage, action.micro_batch);
    std::int64_t bytes = rank.held_bytes;
    if (forward) {
      bytes += std::max(cost.saved.count, cost.forward_peak.count) + reserve(rank, action);
    } else {
      bytes += cost.backward_peak.count;
    }
    return bytes <= rules_.limits[at(wake.rank)].count;
  }

  /// Room for one micro-batch in each later stage of the rank that holds none.
  [[nodiscard]] std::int64_t reserve(const RankState& rank, const Action& action) const {
    std::int64_t bytes = 0;
    for (const int stage : rank.stages) {
      if (stage > action.stage && held(stage) == 0) {
        bytes += cost_of(stage, action.micro_batch).saved.count;
      }
    }
    return bytes;
  }

  [[nodiscard]] int held(int stage) const { return forwarded_[at(stage)] - released_[at(stage)]; }

  void start(const Action& action, const Wake& wake) {
    RankState& rank = ranks_[at(wake.rank)];
    const StageCost& cost = cost_of(action.stage, action.micro_batch);
    schedule_.ranks[at(wake.rank)].push_back(action);
    Seconds taken = cost.backward_weight;
    switch (action.kind) {
      case ActionKind::kForward:
        taken = cost.forward;
        ++forwarded_[at(action.stage)];
        rank.held_bytes += cost.saved.count;
        break;
      case ActionKind::kBackward:
        taken = cost.backward;
        ++backwarded_[at(action.stage)];
        release(rank, action, cost.saved);
        break;
      case ActionKind::kBackwardInput:
        taken = cost.backward_input;
        ++backwarded_[at(action.stage)];
        rank.held_bytes += cost.weight_pending.count;
        rank.pending.push_back(
            {ActionKind::kBackwardWeight, false, action.stage, action.micro_batch});
        break;
      default:
        release(rank, action, cost.saved + cost.weight_pending);
        break;
    }
    rank.free_s = wake.time_s + (taken + costs_.call_overhead).count();
    wakes_.push({rank.free_s, wake.rank});
    deliver(action, cost, wake.rank, rank.free_s);
  }

  void release(RankState& rank, const Action& action, Bytes bytes) {
    ++released_[at(action.stage)];
    rank.held_bytes -= bytes.count;
  }

  void deliver(const Action& action, const StageCost& cost, int rank, double finish_s) {
    const ActionResults results = results_of(action, index_, schedule_.stage_count());
    if (results.made == ActionResults::kNone) return;
    const bool onwards = action.kind == ActionKind::kForward;
    const int user = action.stage + (onwards ? 1 : -1);
    arrival_s_[results.made] = finish_s;
    if (user < 0 || user >= schedule_.stage_count()) return;
    const int user_rank = schedule_.rank_of_stage[at(user)];
    if (user_rank == rank) return;
    arrival_s_[results.made] += (onwards ? cost.send_activation : cost.send_gradient).count();
    wakes_.push({arrival_s_[results.made], user_rank});
  }

  const ScheduleCosts& costs_;
  const ListRules& rules_;
  ResultIndex index_;
  Schedule schedule_;
  std::vector<double> arrival_s_;
  std::vector<RankState> ranks_;
  std::vector<int> forwarded_;   ///< by stage: micro-batches, which run in order
  std::vector<int> backwarded_;  ///< input or full gradients
  std::vector<int> released_;    ///< whose saved activations are free again
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
};

}  // namespace

std::optional<ListResult> list_schedule(const Schedule& frame, const ScheduleCosts& costs,
                                        const ListRules& rules) {
  return ListScheduler(frame, costs, rules).run();
}

}  // namespace ppplan::planner
