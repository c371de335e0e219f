#include "planner/makespan_bound.h"

#include <algorithm>

namespace ppplan::planner {

BoundKind bound_kind(const std::string& schedule) {
  if (schedule == "naive") return BoundKind::kNaive;
  if (schedule == "gpipe") return BoundKind::kGpipe;
  if (schedule == "1f1b") return BoundKind::k1f1b;
  return BoundKind::kAny;
}

MakespanBound::MakespanBound(const ChainCosts& costs, const BatchSplit& batch,
                             const std::vector<int>& rank_of_stage, Seconds call_overhead,
                             BoundKind kind)
    : costs_(costs),
      batch_(batch),
      stage_count_(static_cast<int>(rank_of_stage.size())),
      hops_{0},
      call_overhead_(call_overhead),
      kind_(kind) {
  for (std::size_t stage = 1; stage < rank_of_stage.size(); ++stage) {
    hops_.push_back(hops_.back() + (rank_of_stage[stage] != rank_of_stage[stage - 1] ? 1 : 0));
  }
  if (kind_ == BoundKind::kNaive) naive_makespan_ = one_by_one();
}

/// Micro-batches of a class.
double MakespanBound::count_of(int class_index) const {
  return class_index == 0 ? batch_.micro_batch_count() - batch_.last_class() : 1;
}

/// Forward through layers [first, last), cut into as many stages as lie between `from` and `to`,
/// and backward again, with the transfers between those two.
Seconds MakespanBound::there_and_back(int first, int last, int from, int to, int forward_class,
                                      int backward_class) const {
  const Seconds backward = kind_ == BoundKind::kAny
                               ? std::min(costs_.backward(first, last, backward_class),
                                          costs_.backward_input(first, last, backward_class))
                               : costs_.backward(first, last, backward_class);
  const Seconds per_hop =
      costs_.least_transfer(forward_class) + costs_.least_transfer(backward_class);
  const int hops = hops_[static_cast<std::size_t>(to)] - hops_[static_cast<std::size_t>(from)];
  return costs_.forward(first, last, forward_class) + backward + per_hop * hops +
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

Seconds MakespanBound::at(int stage, int first, int last) const {
  if (kind_ == BoundKind::kNaive) return naive_makespan_;
  if (kind_ == BoundKind::kAny) return at_any(stage, first, last);
  const int tail = batch_.last_class();
  Seconds own{0};
  for (int index = 0; index <= tail; ++index) {
    const Seconds once = costs_.forward(first, last, index) + costs_.backward(first, last, index);
    own += (once + 2.0 * call_overhead_) * count_of(index);
  }
  own += there_and_back(0, first, 0, stage, 0, tail);
  // The last micro-batch goes up, the first one's gradient comes down.
  return own + (kind_ == BoundKind::kGpipe
                    ? there_and_back(last, costs_.layer_count(), stage, stage_count_ - 1, tail, 0)
                    : excursions(stage, first, last));
}

Seconds MakespanBound::at_any(int stage, int first, int last) const {
  const int tail = batch_.last_class();
  Seconds all{0};
  Seconds until_drain{0};
  for (int index = 0; index <= tail; ++index) {
    const Seconds forward = costs_.forward(first, last, index) + 2.0 * call_overhead_;
    const Seconds input =
        std::min(costs_.backward(first, last, index), costs_.backward_input(first, last, index));
    all += (forward + costs_.least_backward(first, last, index)) * count_of(index);
    until_drain += (forward + input) * count_of(index);
  }
  const Seconds down = costs_.forward(0, first, 0) + call_overhead_ * stage +
                       costs_.least_transfer(0) * hops_[static_cast<std::size_t>(stage)];
  return std::max(down + all, there_and_back(0, first, 0, stage, 0, tail) + until_drain);
}

/// What the ways up add to the stage's own work.
Seconds MakespanBound::excursions(int stage, int first, int last) const {
  const int above = stage_count_ - 1 - stage;
  if (above == 0) return Seconds(0);
  const int count = batch_.micro_batch_count();
  const int tail = batch_.last_class();
  const int layers = costs_.layer_count();
  const Seconds none{0};
  const Seconds forward = costs_.forward(first, last, 0) + call_overhead_;
  const Seconds backward = costs_.backward(first, last, 0) + call_overhead_;
  const int skipped = std::min(above, count - 1);
  Seconds skipped_forward = forward * skipped;
  if (skipped == count - 1 && skipped > 0) {
    skipped_forward += costs_.forward(first, last, tail) - costs_.forward(first, last, 0);
  }
  const int top = stage_count_ - 1;
  const Seconds up = there_and_back(last, layers, stage, top, 0, 0);
  const Seconds up_last = there_and_back(last, layers, stage, top, tail, tail);
  const Seconds at_start = std::max(none, up - skipped_forward);
  const Seconds at_end = std::max(none, up_last - backward * skipped);
  if (count < above + 2) return std::max(at_start, at_end);
  const int between = (count - 1) / (above + 1) - 1;
  return at_start + at_end + std::max(none, up - (forward + backward) * above) * between;
}

}  // namespace ppplan::planner
