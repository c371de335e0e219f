#include "planner/synthesized_plan.h"

#include "planner/schedule/synthesize.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ppplan::planner {
namespace {

constexpr std::size_t kDraftCount = 4;
constexpr std::int64_t kSynthesisBudget = 10'000'000;  ///< simulated actions, each

/// What parameters and what is kept beside them leave of each rank's memory.
std::vector<Bytes> memory_left(const Candidate& candidate, const Evaluation& evaluation) {
  std::vector<Bytes> left;
  for (std::size_t rank = 0; rank < evaluation.memory.size(); ++rank) {
    const MemoryBreakdown& memory = evaluation.memory[rank];
    left.push_back(candidate.allowed()[rank] -
                   (memory.parameters + memory.gradients + memory.optimizer_state));
  }
  return left;
}

bool same_question(const Priced& one, const Priced& other) {
  return one.cut == other.cut && &one.candidate->basis() == &other.candidate->basis() &&
         one.candidate->schedule().rank_of_stage == other.candidate->schedule().rank_of_stage;
}

std::optional<Priced> synthesized_for(const Priced& draft) {
  const Candidate& candidate = *draft.candidate;
  const Evaluation evaluation = candidate.evaluate(draft.cut);
  std::optional<Synthesis> found = synthesize(
      candidate.schedule().rank_of_stage, candidate.costs(draft.cut),
      {.memory = memory_left(candidate, evaluation), .simulated_actions = kSynthesisBudget});
  if (!found) return std::nullopt;
  found->schedule.name = kSynthesized;
  const auto made =
      std::make_shared<const Candidate>(candidate.with_schedule(std::move(found->schedule)));
  return Priced{.candidate = made,
                .cut = draft.cut,
                .step = made->step(draft.cut),
                .peak = std::ranges::max(made->memory(draft.cut)),
                .fits = true};
}

}  // namespace

std::vector<Priced> synthesized(const std::vector<Priced>& drafts) {
  std::vector<Priced> made;
  std::vector<const Priced*> taken;
  for (const Priced& draft : drafts) {
    if (taken.size() == kDraftCount || !draft.fits) break;
    const auto same = [&](const Priced* other) { return same_question(draft, *other); };
    if (std::ranges::any_of(taken, same)) continue;
    taken.push_back(&draft);
    if (auto priced = synthesized_for(draft)) made.push_back(std::move(*priced));
  }
  return made;
}

}  // namespace ppplan::planner
