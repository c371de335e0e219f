#include "planner/schedule/synthesize.h"

#include "planner/schedule/generators.h"
#include "planner/schedule/list_scheduler.h"
#include "planner/schedule/local_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>

namespace ppplan::planner {
namespace {

struct Candidate {
  Schedule schedule;
  Seconds makespan{0};
};

/// Looks at schedules one by one; keeps those that fit, shortest first.
class Pool {
 public:
  Pool(const ScheduleCosts& costs, const std::vector<Bytes>& memory)
      : costs_(costs), memory_(memory) {}

  void offer(Schedule schedule) {
    if (!fits(schedule)) return;
    const Seconds length = planner::makespan(schedule, costs_);
    const auto place = std::ranges::upper_bound(kept_, length, {}, &Candidate::makespan);
    kept_.insert(place, {std::move(schedule), length});
    if (kept_.size() > kKept) kept_.pop_back();
  }

  [[nodiscard]] const std::vector<Candidate>& kept() const { return kept_; }

 private:
  [[nodiscard]] bool fits(const Schedule& schedule) const {
    for (std::size_t rank = 0; rank < memory_.size(); ++rank) {
      const RankMemory peak = memory_peak(schedule, costs_, static_cast<int>(rank));
      if (peak.total() > memory_[rank]) return false;
    }
    return true;
  }

  static constexpr std::size_t kKept = 4;
  const ScheduleCosts& costs_;
  const std::vector<Bytes>& memory_;
  std::vector<Candidate> kept_;
};

/// Every named schedule that puts the stages on the same ranks.
void offer_named(Pool& pool, const Schedule& frame) {
  ScheduleShape shape{.rank_count = frame.rank_count(),
                      .micro_batch_count = frame.micro_batch_count,
                      .virtual_count = std::max(1, frame.stage_count() / frame.rank_count())};
  for (const std::string& name : schedule_names()) {
    auto made = make_schedule(name, shape);
    Schedule* schedule = std::get_if<Schedule>(&made);
    if (schedule != nullptr && schedule->rank_of_stage == frame.rank_of_stage) {
      pool.offer(std::move(*schedule));
    }
  }
}

/// Split in place: each backward becomes its input gradient and, right after, its weight gradient.
Schedule with_split_backwards(const Schedule& schedule) {
  Schedule split = schedule;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    split.ranks[rank].clear();
    for (Action action : schedule.ranks[rank]) {
      action.overlapped = false;
      if (action.kind != ActionKind::kBackward) {
        split.ranks[rank].push_back(action);
        continue;
      }
      action.kind = ActionKind::kBackwardInput;
      split.ranks[rank].push_back(action);
      action.kind = ActionKind::kBackwardWeight;
      split.ranks[rank].push_back(action);
    }
  }
  return split;
}

/// By stage, how many micro-batches are under way from its forward to its backward when the busiest
/// rank never waits: time of that way / time of a micro-batch on that rank (Little's law). A
/// fraction.
std::vector<double> needed_in_flight(const Schedule& frame, const ScheduleCosts& costs) {
  std::vector<double> busy_s(frame.ranks.size(), 0.0);
  std::vector<double> needed(frame.rank_of_stage.size());
  double way_s = 0.0;
  for (std::size_t stage = needed.size(); stage-- > 0;) {
    const StageCost& cost = costs.stages[stage].front();
    const double weight_s = cost.backward_weight.count();
    const double input_s = cost.backward_input.count();
    const double turn_s = 2 * costs.call_overhead.count() + cost.forward.count();
    way_s += turn_s + std::max(input_s, cost.backward.count() - weight_s);
    needed[stage] = way_s;
    way_s += cost.send_gradient.count();
    if (stage > 0) way_s += costs.stages[stage - 1].front().send_activation.count();
    busy_s[static_cast<std::size_t>(frame.rank_of_stage[stage])] += turn_s + input_s + weight_s;
  }
  const double bottleneck_s = *std::ranges::max_element(busy_s);
  for (double& count : needed) count = bottleneck_s > 0.0 ? count / bottleneck_s : 1.0;
  return needed;
}

/// Urgency of a stage's actions: smaller keys first.
using Key = double (*)(double stage, double stage_count);

struct Preference {
  Key forward;
  Key backward;
};

/// Backwards before forwards, forwards before backwards, and forwards of later stages in between:
/// which is best depends on where the bottleneck is.
constexpr Preference kPreferences[] = {
    {[](double stage, double) { return -stage; },
     [](double stage, double count) { return stage - 2 * count; }},
    {[](double stage, double) { return -stage; },
     [](double stage, double count) { return -stage - 2 * count; }},
    {[](double stage, double) { return -stage; }, [](double stage, double) { return stage; }},
    {[](double stage, double count) { return 2 * stage < count ? 0.0 : -3 * count; },
     [](double stage, double count) { return 2 * stage < count ? count : -count; }},
};

/// A list schedule costs about as much as eight simulations; very large ones get few tries.
std::int64_t affordable_lists(const Schedule& frame, std::int64_t simulated_actions) {
  return simulated_actions / (std::int64_t{24} * frame.stage_count() * frame.micro_batch_count + 1);
}

void offer_listed(Pool& pool, const Schedule& frame, const ScheduleCosts& costs,
                  const SynthesisOptions& options) {
  std::int64_t tries = affordable_lists(frame, options.simulated_actions);
  const auto stage_count = static_cast<double>(frame.stage_count());
  const std::vector<double> needed = needed_in_flight(frame, costs);
  for (const BackwardForm form : {BackwardForm::kSplit, BackwardForm::kFull}) {
    for (const auto& [forward, backward] : kPreferences) {
      for (const double surplus : {0.0, 1.0, 2.0, 4.0, 1e9}) {
        if (tries-- <= 0) return;
        ListRules rules;
        rules.backward = form;
        rules.limits = options.memory;
        for (double stage = 0; stage < stage_count; ++stage) {
          const double held = std::ceil(needed[static_cast<std::size_t>(stage)] + surplus);
          rules.forward_key.push_back(forward(stage, stage_count));
          rules.backward_key.push_back(backward(stage, stage_count));
          rules.most_held.push_back(
              static_cast<int>(std::clamp(held, 1.0, double{1} * frame.micro_batch_count)));
        }
        if (auto listed = list_schedule(frame, costs, rules)) {
          pool.offer(std::move(listed->schedule));
        }
      }
    }
  }
}

}  // namespace

std::optional<Synthesis> synthesize(const std::vector<int>& rank_of_stage,
                                    const ScheduleCosts& costs, const SynthesisOptions& options) {
  Schedule frame;
  frame.name = "synthesized";
  frame.micro_batch_count = static_cast<int>(costs.class_of_micro_batch.size());
  frame.rank_of_stage = rank_of_stage;
  frame.ranks.resize(static_cast<std::size_t>(*std::ranges::max_element(rank_of_stage)) + 1);

  Pool named(costs, options.memory);
  offer_named(named, frame);
  Pool starts = named;
  for (const Candidate& candidate : named.kept()) {
    starts.offer(with_split_backwards(candidate.schedule));
  }
  offer_listed(starts, frame, costs, options);
  if (starts.kept().empty()) return std::nullopt;

  Synthesis best;
  best.schedule = starts.kept().front().schedule;
  best.makespan = starts.kept().front().makespan;
  const auto share = options.simulated_actions / std::ssize(starts.kept());
  for (const Candidate& start : starts.kept()) {
    Improved improved = improve(start.schedule, costs, {options.memory, share});
    if (improved.makespan < best.makespan) {
      best.schedule = std::move(improved.schedule);
      best.makespan = improved.makespan;
    }
  }
  best.schedule.name = frame.name;
  if (named.kept().empty()) return best;
  best.best_named = named.kept().front().schedule.name;
  best.named_makespan = named.kept().front().makespan;
  if (best.makespan >= best.named_makespan) {
    best.schedule = named.kept().front().schedule;
    best.makespan = best.named_makespan;
  }
  return best;
}

}  // namespace ppplan::planner
