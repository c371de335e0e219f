// Enumerates the ideals above another one, each once, without a list of pairs.
#pragma once

#include "planner/graph/lattice.h"

#include <cstddef>
#include <vector>

namespace ppplan::planner {

/// Walks the ideals above a base by adding items in ascending order, which reaches each of them on
/// one way only. Keeps its stack from one base to the next.
class NestedWalk {
 public:
  explicit NestedWalk(const Lattice& lattice) : lattice_(lattice) {}

  /// Calls `visitor.add(item, ideal)` for ideals above `base`; where it returns true, goes on above
  /// that one and calls `visitor.remove(item)` afterwards. Where the visitor's answer depends only
  /// on what grows with the ideal, none is missed. O(1) a call.
  template <typename Visitor>
  void above(Lattice::Ideal base, Visitor& visitor) {
    const auto steps_of = [&](Lattice::Ideal ideal) { return lattice_.steps(ideal); };
    path_.clear();
    path_.push_back({steps_of(base), 0, 0});
    for (;;) {
      Visit& visit = path_.back();
      const bool done = visit.steps.empty() || visit.steps.front().item < visit.least;
      if (done) {
        const std::size_t item = visit.item;
        path_.pop_back();
        if (path_.empty()) return;
        visitor.remove(item);
        continue;
      }
      const Lattice::Step step = visit.steps.front();
      visit.steps = visit.steps.subspan(1);
      if (visitor.add(step.item, step.ideal)) {
        path_.push_back({steps_of(step.ideal), step.item, step.item});
      }
    }
  }

 private:
  struct Visit {
    std::span<const Lattice::Step> steps;  ///< not yet taken, largest item first
    std::size_t least;                     ///< smaller items are another way's
    std::size_t item;                      ///< that led here
  };

  const Lattice& lattice_;
  std::vector<Visit> path_;
};

}  // namespace ppplan::planner
