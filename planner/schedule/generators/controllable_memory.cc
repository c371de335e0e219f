// V-Half and V-Min: two stages a rank in a V, with about a half and a third of 1F1B's activations
// (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory"). The paper repeats a building
// block every six slots (F, I, W of two chunks) and closes the gaps at both ends. Here a list
// scheduler does both in unit time under the memory limit; which rule works best depends on the
// rank count, so a few are tried on a short run and the best one makes the schedule.
#include "planner/schedule/generators/catalogue.h"
#include "planner/schedule/list_scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

namespace ppplan::planner {
namespace {

constexpr int kSlots = 6;

/// Urgency of the kinds of a rank's actions, smaller first: F of chunk 0, F of chunk 1, I of chunk
/// 1, I of chunk 0: in the order in which a micro-batch meets them.
using Urgency = std::array<double, 4>;

/// A way to schedule. Chunk 0 of rank r may hold `limit - margin - slope * r` micro-batches: the
/// further down the V, the sooner they come back.
struct Rule {
  Urgency urgency{};
  int margin = 1;
  double slope = 0.0;
};

/// The order of a building block in which a micro-batch advances one rank a slot, waiting `foot`
/// slots at the V's foot in both directions (which keeps actions of different micro-batches apart).
struct Block {
  int foot_down = 0;
  int foot_up = 0;
};

struct Setting {
  Schedule frame;
  ScheduleCosts costs;
  int limit = 0;  ///< chunks a rank may hold
};

Setting setting_for(const std::string& name, const ScheduleShape& shape, int limit) {
  Setting setting;
  setting.frame = empty_schedule(name, shape, 2, Placement::kV);
  setting.limit = limit;
  StageCost unit;
  unit.forward = unit.backward_input = unit.backward_weight = Seconds(1);
  unit.backward = Seconds(2);
  unit.saved = Bytes{1};
  setting.costs.stages.assign(setting.frame.rank_of_stage.size(), {unit});
  setting.costs.class_of_micro_batch.assign(static_cast<std::size_t>(shape.micro_batch_count), 0);
  return setting;
}

ListRules rules_for(const Setting& setting) {
  const std::size_t stage_count = setting.frame.rank_of_stage.size();
  ListRules rules;
  rules.forward_key.resize(stage_count);
  rules.backward_key.resize(stage_count);
  rules.most_held.assign(stage_count, setting.limit);
  rules.limits.assign(setting.frame.ranks.size(), Bytes{setting.limit});
  return rules;
}

ListRules to_list_rules(const Setting& setting, const Rule& rule) {
  ListRules rules = rules_for(setting);
  const int rank_count = setting.frame.rank_count();
  for (int stage = 0; stage < 2 * rank_count; ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    const bool down = stage < rank_count;
    rules.forward_key[at] = down ? rule.urgency[0] : rule.urgency[1];
    rules.backward_key[at] = down ? rule.urgency[3] : rule.urgency[2];
    if (!down) continue;
    const auto held =
        static_cast<int>(std::lround(setting.limit - rule.margin - rule.slope * stage));
    rules.most_held[at] = std::clamp(held, 1, std::max(1, setting.limit - 1));
  }
  return rules;
}

ListRules to_list_rules(const Setting& setting, const Block& block) {
  ListRules rules = rules_for(setting);
  rules.choice = Choice::kStrictlyInOrder;
  rules.interval = kSlots;
  double slot = 0;
  const int stage_count = setting.frame.stage_count();
  for (int stage = 0; stage < stage_count; ++stage, ++slot) {
    if (stage == stage_count / 2) slot += block.foot_down;
    rules.forward_key[static_cast<std::size_t>(stage)] = slot;
  }
  for (int stage = stage_count - 1; stage >= 0; --stage, ++slot) {
    if (stage == stage_count / 2 - 1) slot += block.foot_up;
    rules.backward_key[static_cast<std::size_t>(stage)] = slot;
  }
  return rules;
}

/// Every rule worth trying. Blocks whose actions collide, and limits that leave a rank stuck, lose
/// by themselves.
std::vector<ListRules> candidates(const Setting& setting) {
  std::vector<ListRules> all;
  for (const Block block : {Block{0, 0}, Block{2, 2}, Block{2, 0}, Block{0, 2}}) {
    all.push_back(to_list_rules(setting, block));
  }
  // Few differ in the end, but which one wins changes with the rank count.
  constexpr std::array<Urgency, 6> kUrgencies{
      {{2, 0, 1, 3}, {2, 1, 3, 0}, {1, 0, 3, 2}, {1, 0, 2, 3}, {2, 1, 0, 3}, {2, 0, 3, 1}}};
  for (const Urgency& urgency : kUrgencies) {
    for (const int margin : {1, 2}) {
      for (const double slope : {0.5, 0.375, 0.25, 0.0}) {
        all.push_back(to_list_rules(setting, Rule{urgency, margin, slope}));
      }
    }
  }
  return all;
}

Schedule best_of(const std::string& name, const ScheduleShape& shape, int limit) {
  constexpr int kMostRanksTried = 64;  // beyond, trying costs more than it finds
  const Setting setting = setting_for(name, shape, limit);
  ScheduleShape trial_shape = shape;
  trial_shape.micro_batch_count = std::min(shape.micro_batch_count, 3 * shape.rank_count);
  const Setting trial = setting_for(name, trial_shape, limit);
  std::vector<ListRules> rules = candidates(trial);
  if (shape.rank_count > kMostRanksTried) rules.resize(6);
  std::vector<std::pair<Seconds, std::size_t>> order;
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    if (const auto result = list_schedule(trial.frame, trial.costs, rules[rule])) {
      order.emplace_back(result->makespan, rule);
    }
  }
  std::ranges::sort(order);
  for (const auto& [makespan, rule] : order) {
    if (auto result = list_schedule(setting.frame, setting.costs, rules[rule])) {
      return std::move(result->schedule);
    }
  }
  return {};
}

}  // namespace

Schedule v_half(const ScheduleShape& shape) {
  return best_of("v-half", shape, shape.rank_count + 2);
}

Schedule v_min(const ScheduleShape& shape) {
  return best_of("v-min", shape, 2 * ((shape.rank_count + 4) / 3));
}

}  // namespace ppplan::planner
