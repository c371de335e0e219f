#include "planner/graph/stage_table.h"

#include <utility>

namespace ppplan::planner {

void StageTable::restart(Lattice::Ideal start) {
  for (const Lattice::Ideal ideal : reached_) {
    const Reach reach = std::exchange(reach_[ideal], {});
    for (std::size_t state = reach.first; state < reach.end; ++state) {
      cells_[ideal * state_count_ + state] = {};
    }
  }
  reached_.clear();
  relax(start, 0, 0.0, start, 0);
}

std::vector<Segment> StageTable::stages(Lattice::Ideal start, Lattice::Ideal ideal,
                                        std::size_t state) const {
  std::vector<Segment> stages;
  while (ideal != start) {
    const Cell& cell = cells_[ideal * state_count_ + state];
    stages.push_back({.from = cell.from,
                      .to = ideal,
                      .state_before = cell.from_state,
                      .state_after = static_cast<std::uint32_t>(state)});
    ideal = cell.from;
    state = cell.from_state;
  }
  std::reverse(stages.begin(), stages.end());
  return stages;
}

}  // namespace ppplan::planner
