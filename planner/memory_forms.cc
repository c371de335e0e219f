#include "planner/memory_forms.h"

#include "planner/schedule/communication.h"
#include "planner/schedule/walk.h"

#include <algorithm>
#include <cassert>

namespace ppplan::planner {
namespace {

template <typename Form>
bool exceeds(const Form& larger, const Form& smaller) {
  bool all = true;
  for (std::size_t at = 0; at < larger.size(); ++at) all &= larger[at] >= smaller[at];
  return all;
}

}  // namespace

MemoryForms::MemoryForms(const Schedule& schedule, std::span<const int> class_of_micro_batch,
                         int stage) {
  const bool hands_on = apart(schedule, stage, stage + 1);
  const bool hands_back = apart(schedule, stage, stage - 1);
  const int rank = *rank_at(schedule, stage);
  constexpr std::size_t kNothing = SIZE_MAX;
  Form held{};                  // saved and pending multiples
  std::size_t sent = kNothing;  // what the action before sent
  const auto record = [&](std::size_t running, std::size_t arrived) {
    Form form = held;
    for (const std::size_t at : {sent, running, arrived}) {
      if (at != kNothing) ++form[at];
    }
    keep(form);
  };
  for (const Action& action : schedule.ranks[static_cast<std::size_t>(rank)]) {
    if (is_communication(action.kind)) continue;
    if (action.stage != stage) {
      sent = kNothing;
      continue;
    }
    const int index = class_of_micro_batch[static_cast<std::size_t>(action.micro_batch)];
    assert(index < static_cast<int>(kMaxClasses));
    const std::size_t arrived =
        stage + 1 == schedule.stage_count() ? kNothing : slot(kOutput, index);
    switch (action.kind) {
      case ActionKind::kForward:
        record(slot(kForwardPeak, index), kNothing);
        ++held[slot(kSaved, index)];
        sent = hands_on ? slot(kOutput, index) : kNothing;
        break;
      case ActionKind::kBackward:
      case ActionKind::kBackwardInput:
        record(slot(kBackwardPeak, index), arrived);
        if (action.kind == ActionKind::kBackward) {
          --held[slot(kSaved, index)];
        } else {
          ++held[slot(kWeightPending, index)];
        }
        sent = hands_back ? slot(kReceived, index) : kNothing;
        break;
      case ActionKind::kBackwardWeight:
        record(kNothing, kNothing);
        --held[slot(kSaved, index)];
        --held[slot(kWeightPending, index)];
        break;
      default:
        continue;
    }
    record(kNothing, kNothing);
  }
}

void MemoryForms::keep(const Form& form) {
  for (const Form& kept : forms_) {
    if (exceeds(kept, form)) return;
  }
  std::erase_if(forms_, [&](const Form& kept) { return exceeds(form, kept); });
  forms_.push_back(form);
}

Bytes MemoryForms::peak(std::span<const StageCost> costs, std::span<const Bytes> received) const {
  std::int64_t most = 0;
  for (const Form& form : forms_) {
    std::int64_t total = 0;
    for (std::size_t index = 0; index < costs.size(); ++index) {
      const std::int32_t* times = form.data() + index * kQuantityCount;
      const StageCost& cost = costs[index];
      total += times[kSaved] * cost.saved.count + times[kForwardPeak] * cost.forward_peak.count +
               times[kBackwardPeak] * cost.backward_peak.count +
               times[kWeightPending] * cost.weight_pending.count +
               times[kOutput] * cost.output.count + times[kReceived] * received[index].count;
    }
    most = std::max(most, total);
  }
  return {most};
}

}  // namespace ppplan::planner
