// Lower bounds on the makespan of a schedule, from one stage alone: what prunes the search for a
// cut.
#pragma once

#include "planner/batch.h"
#include "planner/chain_costs.h"

#include <array>
#include <span>
#include <string>
#include <vector>

namespace ppplan::planner {

/// Where stages stand: what their times depend on beside their layers.
struct StagePlaces {
  std::vector<int> rank_of_stage;
  std::vector<LinkScope> hop;    ///< [stage]: from the stage before it; of the first unused
  std::vector<double> slowdown;  ///< [stage]: of its device against the measured one
};

/// Which dependencies a bound may count on.
enum class BoundKind {
  kForward,  ///< forwards only
  kAny,      ///< any schedule, also of several stages a rank
  kNaive,    ///< one micro-batch after the other
  kGpipe,    ///< all forwards, then all backwards
  k1f1b,     ///< p - s - 1 forwards, then forward and backward in turn
};

/// The sharpest kind that holds for a schedule of this name.
BoundKind bound_kind(const std::string& schedule);

/// The longest path through a stage's actions that uses only the stage's own times, sums over the
/// layers before and after it (which no cut changes), and the least transfer. Each is a path of the
/// schedule's dependency graph, hence a lower bound for every cut that has this stage.
///
/// Letters: F, B a stage's forward and backward of one micro-batch, D the way down to the stage and
/// back at the end (F and B of the layers before it, transfers), U the way up to the last stage and
/// back (likewise after it), m micro-batches, w = p - s - 1.
///   forward  the way down + m F + the way up, forwards only
///   any    the way down + m (F + B), or D + m (F + the input half of B): weight gradients may come
///          last
///   gpipe  D + m (F + B) + U
///   1f1b   D + m (F + B), and wherever the way up takes longer than what the stage does meanwhile
///          it counts instead: U for w F at the start, U for w B at the end, and between them, as
///          often as it fits, U for w (F + B). The last is how transfers that do not hide lengthen
///          the period.
/// Rises with `last` as long as no boundary differs. O(1).
class MakespanBound {
 public:
  /// `costs` and `batch` must outlive this.
  /// Kinds other than kAny: one stage a rank.
  MakespanBound(const ChainCosts& costs, const BatchSplit& batch, const StagePlaces& places,
                Seconds call_overhead, BoundKind kind);

  /// `added` by class: to the stage's own backward, by recomputing; may be empty.
  [[nodiscard]] Seconds at(int stage, int first, int last,
                           std::span<const Seconds> added = {}) const;

 private:
  /// A stage's own times of one micro-batch, calls included.
  struct Own {
    Seconds forward{0};
    Seconds backward{0};
    Seconds least_backward{0};
    Seconds backward_input{0};  ///< or the full backward, where that is faster
  };
  [[nodiscard]] Own own(int stage, int first, int last, int class_index,
                        std::span<const Seconds> added) const;
  [[nodiscard]] double count_of(int class_index) const;
  [[nodiscard]] Seconds at_forward(int stage, int first, int last) const;
  [[nodiscard]] Seconds at_any(int stage, int first, int last,
                               std::span<const Seconds> added) const;
  [[nodiscard]] Seconds hops(int from, int to, int class_index) const;
  [[nodiscard]] Seconds there_and_back(int first, int last, int from, int to, int forward_class,
                                       int backward_class) const;
  [[nodiscard]] Seconds one_by_one() const;
  [[nodiscard]] Seconds excursions(int stage, int first, int last,
                                   std::span<const Seconds> added) const;

  const ChainCosts& costs_;
  const BatchSplit& batch_;
  int stage_count_;
  std::vector<double> slowdown_;  ///< [stage]
  double least_slowdown_ = 1.0;
  /// [class]: a whole hop over the smallest boundary, inside a node and between nodes.
  std::vector<std::array<Seconds, 2>> least_hop_;
  std::vector<int> hops_inside_;   ///< [stage]: of the boundaries before it, those between ranks
  std::vector<int> hops_between_;  ///< likewise, of different nodes
  Seconds call_overhead_;
  BoundKind kind_;
  Seconds naive_makespan_{0};
};

}  // namespace ppplan::planner
