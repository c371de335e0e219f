#include "tests/support/brute_force.h"

#include "planner/question.h"
#include "planner/schedule/generators.h"
#include "tests/support/every_cut.h"
#include "tests/support/synthetic_profile.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <variant>
#include <vector>

namespace ppplan::testing {
namespace {

using planner::Candidate;
using planner::Cut;

bool keeps(const planner::PartitionOptions& options, const Cut& cut) {
  for (const LayerPin& pin : options.pins) {
    const auto stage = static_cast<std::size_t>(pin.stage);
    if (cut[stage] > pin.first_layer || cut[stage + 1] <= pin.last_layer) return false;
  }
  for (std::size_t stage = 0; stage < options.layer_counts.size(); ++stage) {
    if (cut[stage + 1] - cut[stage] != options.layer_counts[stage]) return false;
  }
  return true;
}

}  // namespace

Seconds brute_force(const Profile& profile, const planner::PartitionOptions& options) {
  const planner::Question question = planner::ask(profile, options);
  Seconds best{std::numeric_limits<double>::infinity()};
  for (const planner::Size& size : sizes_of(question)) {
    for (const Candidate& candidate : offer(question, make_basis(question, size)).candidates) {
      const int layer_count = candidate.basis().chain().layer_count();
      for_each_cut(layer_count, candidate.stage_count(), [&](const Cut& cut) {
        if (!keeps(options, cut)) return;
        const planner::Evaluation evaluation = candidate.evaluate(cut);
        for (std::size_t rank = 0; rank < evaluation.memory.size(); ++rank) {
          if (evaluation.memory[rank].total() > candidate.allowed()[rank]) return;
        }
        best = std::min(best, evaluation.step);
      });
    }
  }
  return best;
}

SmallInstance small_instance(std::mt19937& random, const std::string& schedule,
                             int most_micro_batches) {
  const auto draw = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  const int layer_count = draw(4, 8);
  const int stages_a_rank =
      std::get<planner::Schedule>(planner::make_schedule(schedule, {.virtual_count = 2}))
          .stage_count();
  const int rank_count = draw(2, std::min(4, layer_count / stages_a_rank));
  const bool tied = draw(0, 1) == 1;
  std::vector<SyntheticLayer> layers = random_layers(random, layer_count);
  if (tied) {  // the last layer has what it shares with the first
    SyntheticLayer& last = layers.back();
    last.parameter_bytes = std::max(last.parameter_bytes, layers.front().parameter_bytes);
    last.optimizer_s = std::max(last.optimizer_s, layers.front().optimizer_s);
  }
  const Profile profile = synthetic_profile(layers, {.device_count = rank_count,
                                                     .micro_batches = {1},
                                                     .latency_s = 5e-4 * draw(0, 3),
                                                     .call_overhead_s = 1e-4 * draw(0, 1),
                                                     .tied_ends = tied});
  return {profile,
          {.stage_count = rank_count,
           .global_batch = draw(1, most_micro_batches),
           .schedules = {schedule}}};
}

}  // namespace ppplan::testing
