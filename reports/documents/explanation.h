// Why a plan is as it is, in figures: what `ppplan explain` finds out and shows.
#pragma once

#include "reports/documents/plan.h"
#include "reports/documents/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppplan {

/// Where a step's time goes. The parts add up to the step.
struct StepParts {
  // Computing, on the mean over ranks.
  Seconds work{0};       ///< forward and backward of the layers alone
  Seconds sharing{0};    ///< traffic among the devices that share layers
  Seconds recompute{0};  ///< computing activations again because memory is short
  Seconds calls{0};      ///< overhead of starting actions
  // Not computing, on the mean over ranks (planner::BubbleCauses).
  Seconds fill{0};
  Seconds drain{0};
  Seconds imbalance{0};
  Seconds transfer{0};
  // After the last backward, of the slowest rank.
  Seconds reduction{0};  ///< of gradients: of shared tensors, and between pipelines
  Seconds optimizer{0};
  Seconds overhead{0};  ///< of the step

  [[nodiscard]] Seconds total() const {
    return work + sharing + recompute + calls + fill + drain + imbalance + transfer + reduction +
           optimizer + overhead;
  }
};

/// A rank whose memory does not suffice.
struct MemoryLack {
  int rank = 0;
  Bytes needed;
  Bytes allowed;
};

/// The longest chain of a step's actions, each of which waits for the one before: its length is the
/// step. The binding rank is the one that most of it runs on.
struct CriticalPath {
  int rank = 0;     ///< that binds
  Seconds work{0};  ///< on that rank, and likewise below
  Seconds sharing{0};
  Seconds recompute{0};
  Seconds calls{0};
  Seconds fill{0};      ///< computing of other ranks before that rank's first turn
  Seconds drain{0};     ///< and after its last
  Seconds between{0};   ///< and in between, while it waits for them
  Seconds transfer{0};  ///< tensors on their way
  Seconds reduction{0};
  Seconds optimizer{0};
  Seconds overhead{0};

  [[nodiscard]] Seconds total() const {
    return work + sharing + recompute + calls + fill + drain + between + transfer + reduction +
           optimizer + overhead;
  }
};

/// What holds a plan back.
enum class Obstacle {
  kCompute,    ///< one rank has more to compute than the others
  kMemory,     ///< activations must be computed again
  kSharing,    ///< traffic among the devices that share a layer
  kTransfer,   ///< tensors between ranks
  kReduction,  ///< of gradients
  kPipeline,   ///< filling and draining
};

/// What the same cut would take with one obstacle gone, and nothing else planned anew.
struct Relief {
  Obstacle obstacle = Obstacle::kCompute;
  Seconds step{0};
};

/// A boundary moved by one layer, the rest of the cut as it is.
struct MovedBoundary {
  Seconds step{0};
  std::optional<MemoryLack> lack;
};

struct BoundaryMoves {
  int stage = 0;                         ///< that begins at this boundary
  int layer = 0;                         ///< its first one
  std::optional<MovedBoundary> earlier;  ///< the stage begins with a layer more; empty: not allowed
  std::optional<MovedBoundary> later;    ///< the stage before it ends with a layer more
};

/// Why a runner-up lost. Empty parts: the plan does not hold enough of it to price it again.
struct Loss {
  RunnerUp runner_up;
  std::optional<StepParts> parts;
  std::optional<MemoryLack> lack;
};

/// The best plan for a question that differs in one thing.
struct WhatIf {
  std::string change;  ///< "1 GiB more a device"
  /// Empty: no plan, for the reason in `refusal`.
  std::optional<Plan> plan;
  std::string refusal;
  /// The plan is the present one: planning anew found none that is better.
  bool same_plan = false;
};

/// The split that a trainer makes where it is told nothing, with the plan's schedule and sizes.
struct DefaultSplit {
  std::string trainer;            ///< "Megatron-LM"
  std::string rule;               ///< "equal blocks a stage"
  std::vector<int> layer_counts;  ///< by stage; empty: it refuses, for the reason in `refusal`
  std::string refusal;
  Seconds step{0};
  std::optional<MemoryLack> lack;
};

struct Explanation {
  Seconds step{0};  ///< priced anew
  StepParts parts;
  CriticalPath path;
  std::vector<Relief> reliefs;  ///< the one that brings most first
  /// Of many boundaries of long schedules, those of the binding rank only.
  std::vector<BoundaryMoves> moves;
  std::vector<Loss> losses;
  std::vector<DefaultSplit> defaults;
  std::vector<WhatIf> what_ifs;
};

}  // namespace ppplan
