// Reads a simulated step: where its bubble comes from, what communication costs, how memory moves.
#pragma once

#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"

#include <vector>

namespace ppplan::planner {

/// Time that ranks do not compute, by cause; all ranks together. Sums to ranks * makespan - busy.
struct BubbleCauses {
  Seconds fill{0};       ///< before a rank's first backward: the pipeline fills
  Seconds drain{0};      ///< after its last forward: the pipeline empties
  Seconds imbalance{0};  ///< uneven stages, or gaps that the order leaves in between
  Seconds transfer{0};   ///< transfers that computation does not hide
  [[nodiscard]] Seconds total() const { return fill + drain + imbalance + transfer; }
};

/// By what goes away when a cause is taken away: transfer is the idle time that instant transfers
/// would save; imbalance what, then, equal work on every rank would save, and the gaps that remain
/// between filling and draining; the rest is fill and drain. A cause may be slightly negative where
/// its absence would make the order fit worse. `timeline` is that of simulate(schedule, costs).
/// O(actions).
BubbleCauses bubble_causes(const Schedule& schedule, const ScheduleCosts& costs,
                           const Timeline& timeline);

/// By rank: time it waits while the tensor that it waits for is on its way. O(actions).
std::vector<Seconds> exposed_communication(const Schedule& schedule, const Timeline& timeline);

/// What a rank holds at the fullest moment of one action, the state left behind included.
struct MemorySample {
  Seconds start{0};
  Seconds finish{0};
  RankMemory memory;
};

/// By rank, one sample an action, in order. The largest total equals memory_peaks'. O(actions).
std::vector<std::vector<MemorySample>> memory_timeline(const Schedule& schedule,
                                                       const ScheduleCosts& costs,
                                                       const Timeline& timeline);

/// From a moment on, until the next step, a rank holds so many (stage, micro-batch) pairs.
struct HeldStep {
  Seconds from{0};
  int in_flight = 0;
};

/// By rank, from time 0 to the last release: forwards hold from their start, full and
/// weight-gradient backwards release at their finish. A step where the number changes; what is
/// released and held in one moment does not show. The highest is memory_peaks' in_flight.
/// O(actions).
std::vector<std::vector<HeldStep>> in_flight_timeline(const Schedule& schedule,
                                                      const Timeline& timeline);

}  // namespace ppplan::planner
