#include "tests/support/random_questions.h"

#include "tests/support/synthetic_profile.h"

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

namespace ppplan::testing {
namespace {

int draw(std::mt19937& random, int least, int most) {
  return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
}

/// In three questions of four less than the fastest plan takes without a limit.
void bind_memory(std::mt19937& random, RandomQuestion& question) {
  const int percent = draw(random, 76, 112);
  const auto answer = planner::partition(question.profile, question.options);
  Bytes most;
  for (const PlanRank& rank : std::get<planner::Planned>(answer).plan.ranks) {
    most = std::max(most, rank.memory.total());
  }
  question.options.memory = Bytes{most.count * percent / 100};
}

/// What every question has.
SyntheticOptions common_options(std::mt19937& random) {
  SyntheticOptions made{.micro_batches = {1, 3},
                        .latency_s = 2e-4 * draw(random, 0, 3),
                        .call_overhead_s = 1e-4 * draw(random, 0, 1),
                        .step_overhead_s = 1e-3 * draw(random, 0, 1),
                        .busy_slowdown = 1.2};
  if (draw(random, 0, 1) == 1) made.chunks = {100};
  return made;
}

/// Chain and profile; some layers are frozen, the ends are tied now and then.
Profile make_profile(std::mt19937& random, int layer_count, SyntheticOptions made) {
  std::vector<SyntheticLayer> layers = recomputing(random, random_layers(random, layer_count));
  if (draw(random, 0, 3) == 0) {
    made.tied_ends = true;
    SyntheticLayer& last = layers.back();
    last.parameter_bytes = std::max(last.parameter_bytes, layers.front().parameter_bytes);
    last.optimizer_s = std::max(last.optimizer_s, layers.front().optimizer_s);
  } else if (draw(random, 0, 3) == 0) {
    for (int layer = 0; layer < layer_count / 2; ++layer) made.frozen_layers.push_back(layer);
  }
  return synthetic_profile(layers, made);
}

}  // namespace

RandomQuestion random_pipeline(std::mt19937& random) {
  const int layer_count = std::min(draw(random, 3, 7), draw(random, 3, 7));
  const int ranks = draw(random, layer_count > 5 ? 3 : 2, std::min(4, layer_count));
  SyntheticOptions made = common_options(random);
  made.device_count = ranks;
  const bool differ = draw(random, 0, 3) == 0;
  for (int device = 0; differ && device < ranks; ++device) {
    made.speeds.push_back(draw(random, 0, 1) == 0 ? 1.0 : 0.5);
  }
  RandomQuestion question{.profile = make_profile(random, layer_count, made),
                          .options = {.stage_count = ranks,
                                      .global_batch = draw(random, 1, 6),
                                      .schedules = {"1f1b", "gpipe", "naive"}}};
  bind_memory(random, question);
  return question;
}

RandomQuestion random_layout(std::mt19937& random) {
  const int layer_count = draw(random, 3, 5);
  SyntheticOptions made = common_options(random);
  made.device_count = draw(random, 2, 3);
  made.cluster = Cluster{2, made.device_count};
  made.between_slowdown = draw(random, 1, 8);
  made.tensor_degrees = {1, 2};
  RandomQuestion question{
      .profile = make_profile(random, layer_count, made),
      .options = {.global_batch = 2 * draw(random, 1, 3), .schedules = {"1f1b", "gpipe"}}};
  bind_memory(random, question);
  return question;
}

}  // namespace ppplan::testing
