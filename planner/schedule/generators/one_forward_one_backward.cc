// The family of 1F1B: some forwards to warm up, then forward and backward in turn. Its members
// differ in how many forwards come first, in whether a rank has several stages, and in whether the
// weight gradient is taken apart from the backward and done later.
//
// 1F1B, p = 3, m = 4:   rank 0   F0 F1 F2 B0 F3 B1 B2 B3
//                       rank 1      F0 F1 B0 F2 B1 F3 B2 B3
//                       rank 2         F0 B0 F1 B1 F2 B2 F3 B3
#include "planner/schedule/generators/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace ppplan::planner {
namespace {

/// What a rank does, in the order of its forwards; a chunk is the rank's stage of that number.
struct Pass {
  int chunk = 0;
  int micro_batch = 0;
};

struct Rhythm {
  int warm_up = 0;  ///< forwards before the first backward comes with the next forward
  /// Backwards are split, and a weight gradient follows the input gradient of so many later ones.
  std::optional<int> weight_delay{};
};

/// Appends a rank's actions. Backwards run through `passes` in the same order, chunks reversed.
void append_rhythm(Schedule& schedule, int rank, const std::vector<Pass>& passes, Rhythm rhythm) {
  std::vector<Action>& actions = schedule.ranks[static_cast<std::size_t>(rank)];
  const int chunk_count = schedule.stage_count() / schedule.rank_count();
  const int pass_count = static_cast<int>(passes.size());
  const int warm_up = std::min(rhythm.warm_up, pass_count);
  const int weight_delay = rhythm.weight_delay.value_or(0);
  const auto append = [&](ActionKind kind, int position) {
    if (position < 0 || position >= pass_count) return;
    const auto [chunk, micro_batch] = passes[static_cast<std::size_t>(position)];
    const int own = kind == ActionKind::kForward ? chunk : chunk_count - 1 - chunk;
    actions.push_back({kind, false, own * schedule.rank_count() + rank, micro_batch});
  };
  for (int step = 0; step < pass_count + warm_up + weight_delay; ++step) {
    const int backward = step - warm_up;
    append(ActionKind::kForward, step);
    if (rhythm.weight_delay) {
      append(ActionKind::kBackwardInput, backward);
      append(ActionKind::kBackwardWeight, backward - weight_delay);
    } else {
      append(ActionKind::kBackward, backward);
    }
  }
}

/// Micro-batches 0, 1, ... dealt into groups; within a group each chunk runs all of them in turn.
std::vector<Pass> group_passes(const std::vector<int>& groups, int chunk_count) {
  std::vector<Pass> passes;
  int first = 0;
  for (const int group : groups) {
    for (int chunk = 0; chunk < chunk_count; ++chunk) {
      for (int member = 0; member < group; ++member) passes.push_back({chunk, first + member});
    }
    first += group;
  }
  return passes;
}

/// Sizes of the groups, or why there are none. A group must keep all ranks busy while its first
/// micro-batch goes round: at least p micro-batches, unless it is the only one. Where no size is
/// wanted, m micro-batches make floor(m / p) groups as equal as possible, larger ones first.
std::variant<std::vector<int>, Unschedulable> deal_groups(const ScheduleShape& shape) {
  const int ranks = shape.rank_count;
  const int micro_batches = shape.micro_batch_count;
  if (!shape.micro_batch_group) {
    const int count = std::max(1, micro_batches / ranks);
    std::vector<int> groups(static_cast<std::size_t>(count), micro_batches / count);
    for (int group = 0; group < micro_batches % count; ++group) {
      ++groups[static_cast<std::size_t>(group)];
    }
    return groups;
  }
  const int size = std::min(*shape.micro_batch_group, micro_batches);
  if (size < ranks && size < micro_batches) {
    return Unschedulable{
        fmt::format("micro-batch groups of {} are too small for {} ranks: a group's first "
                    "micro-batch is back at "
                    "rank 0 only after {} forwards; the next legal group is {}",
                    size, ranks, ranks, std::min(ranks, micro_batches))};
  }
  std::vector<int> groups(static_cast<std::size_t>(micro_batches / size), size);
  if (micro_batches % size > 0) groups.push_back(micro_batches % size);
  return groups;
}

std::variant<Schedule, Unschedulable> interleaved(const std::string& name,
                                                  const ScheduleShape& shape, bool split) {
  auto dealt = deal_groups(shape);
  if (Unschedulable* refusal = std::get_if<Unschedulable>(&dealt)) return std::move(*refusal);
  std::vector<int>& groups = std::get<std::vector<int>>(dealt);
  // A last group too small to keep the ranks busy is filled up, and the surplus left out again.
  groups.back() = std::max(groups.back(), std::min(shape.rank_count, groups.front()));
  const std::vector<Pass> passes = group_passes(groups, shape.virtual_count);
  Schedule schedule = empty_schedule(name, shape, shape.virtual_count, Placement::kLoop);
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    const int hops = shape.rank_count - rank - 1;
    const int round = (shape.virtual_count - 1) * groups.front();
    append_rhythm(schedule, rank, passes,
                  split ? Rhythm{round + hops, rank} : Rhythm{round + 2 * hops});
  }
  return keep_micro_batches(std::move(schedule), shape.micro_batch_count);
}

Schedule one_stage_each(const std::string& name, const ScheduleShape& shape,
                        Rhythm (*rhythm)(int hops, int rank)) {
  Schedule schedule = empty_schedule(name, shape, 1, Placement::kLoop);
  const std::vector<Pass> passes = group_passes({shape.micro_batch_count}, 1);
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    append_rhythm(schedule, rank, passes, rhythm(shape.rank_count - rank - 1, rank));
  }
  return schedule;
}

}  // namespace

Schedule one_forward_one_backward(const ScheduleShape& shape) {
  return one_stage_each("1f1b", shape, [](int hops, int) { return Rhythm{hops}; });
}

Schedule zero_bubble_h1(const ScheduleShape& shape) {
  return one_stage_each("zb-h1", shape, [](int hops, int rank) { return Rhythm{hops, rank}; });
}

Schedule zero_bubble_h2(const ScheduleShape& shape) {
  return one_stage_each("zb-h2", shape, [](int hops, int rank) {
    return Rhythm{2 * hops + 1, 2 * rank};
  });
}

std::variant<Schedule, Unschedulable> interleaved_1f1b(const ScheduleShape& shape) {
  return interleaved("interleaved-1f1b", shape, false);
}

std::variant<Schedule, Unschedulable> interleaved_zero_bubble(const ScheduleShape& shape) {
  return interleaved("interleaved-zero-bubble", shape, true);
}

}  // namespace ppplan::planner
