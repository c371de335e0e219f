// The search that both rules share: chains for a bound, then all cuts of the lattice where that is
// small enough.
#pragma once

#include "planner/graph/linear_order.h"
#include "planner/graph/stage_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ppplan::planner {

/// How much a search may hold and look at; beyond, the best chain is the answer.
struct SearchLimits {
  LatticeLimits lattice;
  std::size_t cells = 16'000'000;       ///< states of devices times ideals
  std::size_t chain_cells = 4'000'000;  ///< of a chain, which is coarsened to fit
  std::int64_t work = 2'000'000'000;    ///< states of nested pairs of ideals looked at
  std::size_t chain_positions = 2'000;  ///< at which a chain may be cut
};

/// A stage of nodes of the profile, and where it was found.
struct NodeStage {
  std::vector<int> nodes;  ///< ascending
  Segment segment;
};

/// Positions at which a chain is cut, search after search: a coarse chain is answered in little
/// work and bounds the finer one, whose work may be too much.
inline std::vector<std::size_t> coarse_to_fine(std::size_t positions) {
  constexpr std::size_t kCoarsest = 150;
  constexpr std::size_t kFiner = 4;
  std::vector<std::size_t> numbers = {positions};
  while (numbers.front() > kCoarsest * 2) {
    numbers.insert(numbers.begin(), std::max(numbers.front() / kFiner, kCoarsest));
  }
  return numbers;
}

struct CutSearch {
  std::vector<NodeStage> stages;  ///< empty when no cut fits
  double value = kUnreached;
  bool exact = false;  ///< no contiguous cut is better; when there are no stages, none fits
  std::size_t ideal_count = 0;  ///< of the lattice; 0 when it is too large
  std::int64_t pair_count = 0;
  std::int64_t work = 0;
};

/// The search that goes on while it gets better cuts. A Rule is made from (graph, lattice) by
/// `make_rule` and has `least(range, most_work)`, `complete()`, `stages()`, `pair_count()` and
/// `work()`; see MaxLoadSearch. `states` is the number of states of devices that it distinguishes.
template <typename MakeRule>
class CutSearcher {
 public:
  CutSearcher(MakeRule make_rule, std::size_t states, const SearchLimits& limits)
      : make_rule_(std::move(make_rule)), states_(states), limits_(limits) {}

  /// The best cut of `graph`, whose value is at least `lower_bound`.
  CutSearch search(const ItemGraph& graph, double lower_bound) {
    const std::size_t positions =
        std::clamp<std::size_t>(limits_.chain_cells / states_, 2, limits_.chain_positions + 1) - 1;
    for (const std::vector<int>& order : topological_orders(graph)) {
      for (const std::size_t few : coarse_to_fine(std::min(positions, graph.items.size()))) {
        const ItemGraph chain = linearized(graph, order, few);
        improve(chain, Lattice::build(chain.successors, limits_.lattice).value(), lower_bound);
      }
    }
    if (const auto lattice = Lattice::build(graph.successors, limits_.lattice)) {
      found_.ideal_count = lattice->size();
      if (lattice->size() * states_ <= limits_.cells) {
        found_.exact = improve(graph, *lattice, lower_bound);
      }
    }
    return std::move(found_);
  }

 private:
  /// Finds the best cut of a lattice, or that none is better than what is known. A rule is the
  /// faster the narrower its range: an unknown bound is approached from below, and where there are
  /// many states the range is halved until few values are left to tell apart.
  bool improve(const ItemGraph& graph, const Lattice& lattice, double floor) {
    auto rule = make_rule_(graph, lattice);
    const auto attempt = [&](const ValueRange& range) {
      return this->attempt(graph, lattice, rule, range);
    };
    constexpr double kFarthest = 1e6;
    constexpr double kNarrow = 1.01;
    constexpr int kMostHalvings = 40;
    const bool many_states = states_ > 64;
    const auto up_to = [&](double bound) {
      // Just below the bound, all values that count are alike.
      return ValueRange{many_states ? std::nextafter(bound, 0.0) : floor, bound};
    };
    const double least = floor;
    for (double slack = 0.05; found_.value == kUnreached && slack < kFarthest; slack *= 3.0) {
      const double bound = least * (1.0 + slack);
      if (!attempt(up_to(bound))) return false;
      if (found_.value == kUnreached) floor = bound;
    }
    for (int halving = 0; many_states && found_.value < kUnreached && halving < kMostHalvings &&
                          found_.value > kNarrow * floor;
         ++halving) {
      const double known = found_.value;
      const double middle = floor + (known - floor) / 2.0;
      if (!attempt(up_to(middle))) return false;
      if (found_.value == known) floor = middle;
    }
    return attempt({.floor = floor, .bound = found_.value});
  }

  /// Takes a cut in the range over as the best known. False when the work was too much.
  template <typename Rule>
  bool attempt(const ItemGraph& graph, const Lattice& lattice, Rule& rule,
               const ValueRange& range) {
    const std::int64_t pairs_before = rule.pair_count();
    const double value = rule.least(range, limits_.work - found_.work);
    found_.pair_count += rule.pair_count() - pairs_before;
    found_.work += rule.work();
    if (!(value < found_.value) || !(value < kUnreached)) return rule.complete();
    found_.value = value;
    found_.stages.clear();
    for (const Segment& segment : rule.stages()) {
      NodeStage& stage = found_.stages.emplace_back();
      stage.segment = segment;
      for (const std::size_t item : lattice.items_between(segment.from, segment.to)) {
        const std::vector<int>& nodes = graph.items[item].nodes;
        stage.nodes.insert(stage.nodes.end(), nodes.begin(), nodes.end());
      }
      std::sort(stage.nodes.begin(), stage.nodes.end());
    }
    return rule.complete();
  }

  MakeRule make_rule_;
  std::size_t states_;
  const SearchLimits& limits_;
  CutSearch found_;
};

}  // namespace ppplan::planner
