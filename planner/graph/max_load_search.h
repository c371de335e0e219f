// The largest load of a device, minimized exactly over all contiguous cuts of an item graph.
#pragma once

#include "planner/graph/item_graph.h"
#include "planner/graph/nested.h"
#include "planner/graph/relay.h"
#include "planner/graph/stage_table.h"
#include "planner/graph/transfer_meter.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppplan::planner {

/// Sums of the same times in another order differ by less than this part of them.
inline constexpr double kRounding = 1e-10;

/// The machine. An accelerator's load is its items' time and what crosses its border; a CPU's is
/// its items' time there.
struct MaxLoadLimits {
  int accelerators = 1;
  int cpus = 0;
  double memory_bytes = kUnreached;  ///< of an accelerator
  /// Accelerators are enough for every item to have its own: nobody counts them.
  bool uncounted = false;
};

/// Of accelerators and CPUs used, as one number.
struct MaxLoadStates {
  explicit MaxLoadStates(const MaxLoadLimits& limits)
      : cpu_states(limits.cpus + 1),
        per_accelerator(limits.uncounted ? 0 : static_cast<std::size_t>(cpu_states)),
        count(static_cast<std::size_t>(limits.uncounted ? 1 : limits.accelerators + 1) *
              static_cast<std::size_t>(cpu_states)) {}
  [[nodiscard]] int accelerators(std::size_t state) const {
    return static_cast<int>(state) / cpu_states;
  }
  [[nodiscard]] int cpus(std::size_t state) const { return static_cast<int>(state) % cpu_states; }

  int cpu_states;
  std::size_t per_accelerator;  ///< what one more adds to the number
  std::size_t count;
};

/// Searches the cuts of a graph whose lattice is known (Tarnawski et al., NeurIPS 2020,
/// section 5.1: dynamic programming over ideals). Nested pairs are enumerated, never stored. Left
/// out are bases whose rest the remaining devices cannot take below the bound, and stages whose
/// time, memory or settled transfers exceed it, since these only grow with a stage. Where the whole
/// lattice passes through one ideal, pairs over it are not formed: see relay.h.
class MaxLoadSearch {
 public:
  /// Both must outlive the search.
  MaxLoadSearch(const ItemGraph& graph, const Lattice& lattice, const MaxLoadLimits& limits);

  /// The least largest load, when a cut's is below the bound; else something not below it. Stops
  /// early when `most_work` is done.
  double least(ValueRange range, std::int64_t most_work);
  /// Whether each call looked at all that could matter.
  [[nodiscard]] bool complete() const { return complete_; }
  /// The best cut. Precondition: one below the bound was found.
  [[nodiscard]] std::vector<Segment> stages() const {
    const Ideal full = lattice_.full();
    return table_.stages(0, full, table_.best_state(full));
  }
  /// Nested pairs looked at, in all calls.
  [[nodiscard]] std::int64_t pair_count() const { return pair_count_; }
  /// States of nested pairs that the last call looked at.
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  using Ideal = Lattice::Ideal;

  /// What a stage may be.
  struct Choice {
    bool accelerator = false;
    bool cpu = false;
    [[nodiscard]] bool any() const { return accelerator || cpu; }
  };
  /// The states, from first to last, that are worth going on from, and with what.
  struct Promise {
    Choice choice;
    std::size_t first = 0;
    std::size_t last = 0;
  };

  class StageVisitor;
  class RelayVisitor;

  void enter(Ideal base);
  void leave();
  Promise promising(Ideal base);
  [[nodiscard]] Choice fitting(Ideal base, Ideal ideal, double settled) const;
  void relax(Ideal base, Ideal ideal, const Promise& promise, double load);
  void pass_relay(const RelayPoint& point, Ideal first_source);
  /// Counts a pair and `states` of it; false when too much has been done.
  bool count_pair(std::size_t states);
  /// To be called when the full ideal was reached.
  void tighten() { bound_ = std::min(bound_, table_.least(lattice_.full())); }

  const ItemGraph& graph_;
  const Lattice& lattice_;
  MaxLoadLimits limits_;
  MaxLoadStates states_;
  StageTable table_;
  TransferMeter meter_;
  NestedWalk walk_;
  std::vector<double> time_;  ///< by ideal, of all its items; so the next four
  std::vector<double> cpu_time_;
  std::vector<double> bytes_;
  std::vector<double> not_accelerator_;
  std::vector<double> not_cpu_;
  std::vector<double> relief_;    ///< by CPUs left: accelerator time that they can take over
  std::vector<double> crossing_;  ///< by ideal: load of the stage from it to the next relay point
  std::vector<Ideal> way_ = {0};  ///< parents of the current base and itself, the empty ideal first
  double bound_ = kUnreached;
  double floor_ = 0.0;
  std::vector<double> least_values_;  ///< by CPUs left, of one base's states
  std::int64_t most_work_ = 0;
  std::int64_t pair_count_ = 0;
  std::int64_t work_ = 0;
  bool complete_ = true;
};

/// The most accelerator time that `cpus` CPUs can take over within `bound` each: a fractional
/// knapsack, as exact as kRounding of all items' time. O(items log items).
double cpu_relief(const std::vector<Item>& items, int cpus, double bound);

}  // namespace ppplan::planner
