#include "planner/makespan_bound.h"

#include <algorithm>

namespace ppplan::planner {

BoundKind bound_kind(const std::string& schedule) {
  if (schedule == kForwardOnly) return BoundKind::kForward;
  if (schedule == "naive") return BoundKind::kNaive;
  if (schedule == "gpipe") return BoundKind::kGpipe;
  if (schedule == "1f1b") return BoundKind::k1f1b;
  return BoundKind::kAny;
}

MakespanBound::MakespanBound(const ChainCosts& costs, const BatchSplit& batch,
                             const StagePlaces& places, Seconds call_overhead, BoundKind kind)
    : costs_(costs),
      batch_(batch),
      stage_count_(static_cast<int>(places.rank_of_stage.size())),
      slowdown_(places.slowdown),
      least_slowdown_(*std::ranges::min_element(places.slowdown)),
      hops_inside_{0},
      hops_between_{0},
      call_overhead_(call_overhead),
      kind_(kind) {
  for (std::size_t stage = 1; stage < places.rank_of_stage.size(); ++stage) {
    const bool apart = places.rank_of_stage[stage] != places.rank_of_stage[stage - 1];
    const bool inside = places.hop[stage] == LinkScope::kInside;
    hops_inside_.push_back(hops_inside_.back() + (apart && inside ? 1 : 0));
    hops_between_.push_back(hops_between_.back() + (apart && !inside ? 1 : 0));
  }
  for (int index = 0; index < costs.class_count(); ++index) {
    least_hop_.push_back({costs.least_transfer(index, LinkScope::kInside),
                          costs.least_transfer(index, LinkScope::kBetween)});
  }
  if (kind_ == BoundKind::kNaive) naive_makespan_ = one_by_one();
}

/// Micro-batches of a class.
double MakespanBound::count_of(int class_index) const {
  return class_index == 0 ? batch_.micro_batch_count() - batch_.last_class() : 1;
}

MakespanBound::Own MakespanBound::own(int stage, int first, int last, int class_index,
                                      std::span<const Seconds> added) const {
  const double slowdown = slowdown_[static_cast<std::size_t>(stage)];
  const Seconds more = added.empty() ? Seconds(0) : added[static_cast<std::size_t>(class_index)];
  const Seconds backward = costs_.backward(first, last, class_index);
  const Seconds input = std::min(backward, costs_.backward_input(first, last, class_index));
  const auto whole = [&](Seconds time) { return time * slowdown + call_overhead_; };
  return {.forward = whole(costs_.forward(first, last, class_index)),
          .backward = whole(backward + more),
          .least_backward = whole(costs_.least_backward(first, last, class_index) + more),
          .backward_input = whole(input + more)};
}

/// The least that the transfers of one tensor take between two stages.
Seconds MakespanBound::hops(int from, int to, int class_index) const {
  const auto a = static_cast<std::size_t>(from);
  const auto b = static_cast<std::size_t>(to);
  const auto& [inside, between] = least_hop_[static_cast<std::size_t>(class_index)];
  return inside * (hops_inside_[b] - hops_inside_[a]) +
         between * (hops_between_[b] - hops_between_[a]);
}

/// Forward through layers [first, last), cut into as many stages as lie between `from` and `to`,
/// and backward again, with the transfers between those two.
Seconds MakespanBound::there_and_back(int first, int last, int from, int to, int forward_class,
                                      int backward_class) const {
  const Seconds backward = kind_ == BoundKind::kAny
                               ? std::min(costs_.backward(first, last, backward_class),
                                          costs_.backward_input(first, last, backward_class))
                               : costs_.backward(first, last, backward_class);
  return (costs_.forward(first, last, forward_class) + backward) * least_slowdown_ +
         hops(from, to, forward_class) + hops(from, to, backward_class) +
         2.0 * call_overhead_ * (to - from);
}

Seconds MakespanBound::one_by_one() const {
  Seconds total{0};
  for (int index = 0; index < batch_.class_count(); ++index) {
    const Seconds last_call = 2.0 * call_overhead_;
    const Seconds once =
        there_and_back(0, costs_.layer_count(), 0, stage_count_ - 1, index, index) + last_call;
    total += once * count_of(index);
  }
  return total;
}

Seconds MakespanBound::at(int stage, int first, int last, std::span<const Seconds> added) const {
  if (kind_ == BoundKind::kNaive) return naive_makespan_;
  if (kind_ == BoundKind::kForward) return at_forward(stage, first, last);
  if (kind_ == BoundKind::kAny) return at_any(stage, first, last, added);
  const int tail = batch_.last_class();
  Seconds all{0};
  for (int index = 0; index <= tail; ++index) {
    const Own once = own(stage, first, last, index, added);
    all += (once.forward + once.backward) * count_of(index);
  }
  all += there_and_back(0, first, 0, stage, 0, tail);
  // The last micro-batch goes up, the first one's gradient comes down.
  return all + (kind_ == BoundKind::kGpipe
                    ? there_and_back(last, costs_.layer_count(), stage, stage_count_ - 1, tail, 0)
                    : excursions(stage, first, last, added));
}

/// The first micro-batch comes down, all pass, the last one goes up.
Seconds MakespanBound::at_forward(int stage, int first, int last) const {
  const int tail = batch_.last_class();
  const int top = stage_count_ - 1;
  Seconds all{0};
  for (int index = 0; index <= tail; ++index) {
    all += own(stage, first, last, index, {}).forward * count_of(index);
  }
  const Seconds outside =
      costs_.forward(0, first, 0) + costs_.forward(last, costs_.layer_count(), tail);
  return all + outside * least_slowdown_ + hops(0, stage, 0) + hops(stage, top, tail) +
         call_overhead_ * top;
}

Seconds MakespanBound::at_any(int stage, int first, int last,
                              std::span<const Seconds> added) const {
  const int tail = batch_.last_class();
  Seconds all{0};
  Seconds until_drain{0};
  for (int index = 0; index <= tail; ++index) {
    const Own once = own(stage, first, last, index, added);
    all += (once.forward + once.least_backward) * count_of(index);
    until_drain += (once.forward + once.backward_input) * count_of(index);
  }
  const Seconds down =
      costs_.forward(0, first, 0) * least_slowdown_ + call_overhead_ * stage + hops(0, stage, 0);
  return std::max(down + all, there_and_back(0, first, 0, stage, 0, tail) + until_drain);
}

/// What the ways up add to the stage's own work.
Seconds MakespanBound::excursions(int stage, int first, int last,
                                  std::span<const Seconds> added) const {
  const int above = stage_count_ - 1 - stage;
  if (above == 0) return Seconds(0);
  const int count = batch_.micro_batch_count();
  const int tail = batch_.last_class();
  const int layers = costs_.layer_count();
  const Seconds none{0};
  const Own once = own(stage, first, last, 0, added);
  const int skipped = std::min(above, count - 1);
  Seconds skipped_forward = once.forward * skipped;
  if (skipped == count - 1 && skipped > 0) {
    skipped_forward += own(stage, first, last, tail, added).forward - once.forward;
  }
  const int top = stage_count_ - 1;
  const Seconds up = there_and_back(last, layers, stage, top, 0, 0);
  const Seconds up_last = there_and_back(last, layers, stage, top, tail, tail);
  const Seconds at_start = std::max(none, up - skipped_forward);
  const Seconds at_end = std::max(none, up_last - once.backward * skipped);
  if (count < above + 2) return std::max(at_start, at_end);
  const int between = (count - 1) / (above + 1) - 1;
  return at_start + at_end + std::max(none, up - (once.forward + once.backward) * above) * between;
}

}  // namespace ppplan::planner
