// The generators behind make_schedule, each with the shapes it can serve.
#pragma once

#include "planner/schedule/generators.h"

namespace ppplan::planner {

/// A schedule without actions: name, micro-batches, and stages laid over ranks.
/// Loop: stage s on rank s mod p. V: chunk 0 goes down the ranks, chunk 1 comes back up.
enum class Placement { kLoop, kV };
Schedule empty_schedule(const std::string& name, const ScheduleShape& shape, int virtual_count,
                        Placement placement);

/// Without the actions of micro-batches from `micro_batch_count` on. What is left keeps its order,
/// and so cannot deadlock if the whole could not: micro-batches depend on each other only through
/// ranks.
Schedule keep_micro_batches(Schedule schedule, int micro_batch_count);

/// One micro-batch after the other through all stages, forward and then backward: no overlap.
Schedule naive(const ScheduleShape& shape);
/// All forwards, then all backwards (Huang et al. 2019, GPipe).
Schedule gpipe(const ScheduleShape& shape);
/// As GPipe, each of a rank's stages in turn; backwards in reverse (Lamy-Poirier 2023).
Schedule looped_breadth_first(const ScheduleShape& shape);

/// Every forward, and nothing else: inference.
Schedule forward_only(const ScheduleShape& shape);

/// p - r - 1 forwards, then forward and backward in turn (Narayanan et al. 2019, PipeDream-Flush).
Schedule one_forward_one_backward(const ScheduleShape& shape);
/// 1F1B over v stages a rank (Narayanan et al. 2021, section 2.2), warm-up 2 (p - r - 1) + (v - 1)
/// g.
std::variant<Schedule, Unschedulable> interleaved_1f1b(const ScheduleShape& shape);
/// 1F1B with input gradients in turn; weight gradients r slots late (Qi et al. 2023, ZB-H1).
Schedule zero_bubble_h1(const ScheduleShape& shape);
/// Warm-up 2 (p - r) - 1, weight gradients 2 r slots late: twice the memory (Qi et al. 2023,
/// ZB-H2).
Schedule zero_bubble_h2(const ScheduleShape& shape);
/// Interleaved with split backwards: warm-up (p - r - 1) + (v - 1) g, weight gradients r slots
/// late.
std::variant<Schedule, Unschedulable> interleaved_zero_bubble(const ScheduleShape& shape);

/// Two stages a rank in a V, split backwards (Qi et al. 2023, ZB-V).
std::variant<Schedule, Unschedulable> zero_bubble_v(const ScheduleShape& shape);
/// The same with p / 2 + 1 whole-rank activations a rank (Qi et al. 2024, V-Half).
Schedule v_half(const ScheduleShape& shape);
/// The same with floor((p + 4) / 3) whole-rank activations a rank (Qi et al. 2024, V-Min).
Schedule v_min(const ScheduleShape& shape);
/// Overlapped pairs of forward and backward in a V (DeepSeek-AI 2025, DualPipeV).
std::variant<Schedule, Unschedulable> dualpipe_v(const ScheduleShape& shape);

}  // namespace ppplan::planner
