// The table of the dynamic programmes over ideals: the least bottleneck with which a state (an
// ideal covered with certain devices) is reached, and from where.
#pragma once

#include "planner/graph/lattice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ppplan::planner {

inline constexpr double kUnreached = std::numeric_limits<double>::infinity();

/// The values that matter to a search: those from `bound` on are too large, those up to `floor` are
/// as good as `floor`.
struct ValueRange {
  double floor = 0.0;
  double bound = kUnreached;
};

/// One stage of a cut: the items that `to` has and `from` lacks, and how the rule that made it
/// numbers the devices used before and after it.
struct Segment {
  Lattice::Ideal from = 0;
  Lattice::Ideal to = 0;
  std::uint32_t state_before = 0;
  std::uint32_t state_after = 0;
  int group = 0;     ///< stages of one group are on the same machines
  int machines = 1;  ///< of the group, alike
};

class StageTable {
 public:
  /// States of an ideal that were ever reached lie in [first, end).
  struct Reach {
    std::uint32_t first = 0xFFFF'FFFF;
    std::uint32_t end = 0;
  };

  StageTable(std::size_t ideal_count, std::size_t state_count)
      : state_count_(state_count), cells_(ideal_count * state_count), reach_(ideal_count) {}

  [[nodiscard]] std::size_t state_count() const { return state_count_; }
  [[nodiscard]] Reach reach(Lattice::Ideal ideal) const { return reach_[ideal]; }
  [[nodiscard]] double value(Lattice::Ideal ideal, std::size_t state) const {
    return cells_[ideal * state_count_ + state].value;
  }
  void forget(Lattice::Ideal ideal, std::size_t state) {
    cells_[ideal * state_count_ + state].value = kUnreached;
  }
  /// Forgets everything and starts from state 0 of an ideal.
  void restart(Lattice::Ideal start);
  /// Keeps the better way to a state.
  void relax(Lattice::Ideal ideal, std::size_t state, double value, Lattice::Ideal from,
             std::size_t from_state) {
    Cell& cell = cells_[ideal * state_count_ + state];
    if (!(value < cell.value)) return;
    cell = {value, from, static_cast<std::uint32_t>(from_state)};
    Reach& reach = reach_[ideal];
    if (reach.end == 0) reached_.push_back(ideal);
    reach.first = std::min(reach.first, static_cast<std::uint32_t>(state));
    reach.end = std::max(reach.end, static_cast<std::uint32_t>(state) + 1);
  }
  /// The least value of an ideal over all states.
  [[nodiscard]] double least(Lattice::Ideal ideal) const { return value(ideal, best_state(ideal)); }
  /// The first state of an ideal with the least value.
  [[nodiscard]] std::size_t best_state(Lattice::Ideal ideal) const {
    std::size_t best = 0;
    for (std::size_t state = reach_[ideal].first; state < reach_[ideal].end; ++state) {
      if (value(ideal, state) < value(ideal, best)) best = state;
    }
    return best;
  }
  /// The stages of the way from `start` to a state, first to last. Precondition: it is reached.
  [[nodiscard]] std::vector<Segment> stages(Lattice::Ideal start, Lattice::Ideal ideal,
                                            std::size_t state) const;

 private:
  struct Cell {
    double value = kUnreached;
    Lattice::Ideal from = 0;
    std::uint32_t from_state = 0;
  };

  std::size_t state_count_;
  std::vector<Cell> cells_;
  std::vector<Reach> reach_;  ///< by ideal
  std::vector<Lattice::Ideal> reached_;
};

}  // namespace ppplan::planner
