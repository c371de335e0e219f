#include "planner/chain_cut.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace ppplan::planner {
namespace {

std::size_t index_of(int at) {
  return static_cast<std::size_t>(at);
}

/// Least bottleneck of every suffix: layers [first, end) in stages [stage, end). Entries that reach
/// the ceiling are kUnreachable.
class SuffixTable {
 public:
  SuffixTable(int layer_count, int stage_count, const StageBound& bound, double ceiling)
      : layer_count_(layer_count),
        stage_count_(stage_count),
        bound_(bound),
        ceiling_(ceiling),
        most_(index_of(stage_count), 0),
        least_(index_of(stage_count), layer_count),
        rows_(index_of(stage_count)) {
    limit_starts();
    for (int stage = stage_count - 1; stage >= 0; --stage) fill(stage);
  }

  [[nodiscard]] double at(int stage, int first) const {
    const std::vector<Entry>& row = rows_[index_of(stage)];
    return index_of(first) < row.size() ? row[index_of(first)].bound : kUnreachable;
  }

  /// The cut behind at(0, 0), which must be reachable.
  [[nodiscard]] Cut cut() const {
    Cut cut{0};
    for (int stage = 0; stage < stage_count_; ++stage) {
      cut.push_back(rows_[index_of(stage)][index_of(cut.back())].last);
    }
    return cut;
  }

  /// Calls visit(last, own bound, bound of the stage and the best that follows) for every end of a
  /// stage starting at `first` for which the latter is below `limit`, which visit may lower.
  template <typename Visit>
  void for_each_end(int stage, int first, const double& limit, Visit&& visit) const {
    if (stage == stage_count_ - 1) {
      const double own = bound_(stage, first, layer_count_);
      if (own < limit) visit(layer_count_, own, own);
      return;
    }
    const int least = std::max({first, least_[index_of(stage + 1)], stage == 0 ? 1 : 0});
    for (int last = least; last < layer_count_; ++last) {
      const double own = bound_(stage, first, last);
      if (own == kBlocked) continue;
      if (own >= limit) break;
      const double both = std::max(own, at(stage + 1, last));
      if (both < limit) visit(last, own, both);
    }
  }

 private:
  struct Entry {
    double bound = kUnreachable;
    int last = 0;
  };

  /// Finds the last layer that each stage may start with below the ceiling.
  void limit_starts() {
    for (int stage = 0; stage + 1 < stage_count_; ++stage) {
      int last = most_[index_of(stage)];
      for (int first = stage == 0 ? 0 : 1; first <= most_[index_of(stage)]; ++first) {
        for (; last + 1 < layer_count_; ++last) {
          const double own = bound_(stage, first, last + 1);
          if (own >= ceiling_ && own != kBlocked) break;
        }
      }
      most_[index_of(stage + 1)] = last;
    }
  }

  void fill(int stage) {
    std::vector<Entry>& row = rows_[index_of(stage)];
    row.resize(index_of(most_[index_of(stage)]) + 1);
    for (int first = most_[index_of(stage)]; first >= (stage == 0 ? 0 : 1); --first) {
      Entry& entry = row[index_of(first)];
      double limit = ceiling_;
      for_each_end(stage, first, limit, [&](int last, double /*own*/, double both) {
        entry = {both, last};
        limit = both;
      });
      if (entry.bound < kUnreachable) least_[index_of(stage)] = first;
    }
  }

  int layer_count_;
  int stage_count_;
  const StageBound& bound_;
  double ceiling_;
  std::vector<int> most_;   ///< [stage]: its largest first layer of interest
  std::vector<int> least_;  ///< [stage]: its smallest reachable first layer
  std::vector<std::vector<Entry>> rows_;
};

/// One search for the cheapest cut.
class Search {
 public:
  Search(const CutProblem& problem, const SearchLimits& limits)
      : problem_(problem), limits_(limits), best_(limits.ceiling) {}

  CutResult run() {
    if (problem_.least >= limits_.ceiling) return finished(true, problem_.least);
    table_.emplace(problem_.layer_count, problem_.stage_count, problem_.bound, limits_.ceiling);
    const double least = std::max(problem_.least, table_->at(0, 0));
    if (least >= limits_.ceiling) return finished(true, least);
    descend(problem_.start ? *problem_.start : table_->cut(), limits_.judged_count / 4);
    if (!problem_.prefix_bound) return finished(branch(limits_.judged_count), least);
    if (branch(limits_.judged_count / 2)) return finished(true, least);
    shake();
    return finished(false, least);
  }

  CutResult run_descent() {
    const bool hopeless = problem_.least >= limits_.ceiling;
    if (!hopeless) {
      descend(*problem_.start, limits_.judged_count / 2);
      shake();
    }
    return finished(hopeless, problem_.least);
  }

 private:
  struct Branch {
    int last = 0;
    double so_far = 0.0;  ///< largest bound of the stages up to this one
    double least = 0.0;   ///< no cut of this branch costs less
  };

  CutResult finished(bool proven, double least) {
    result_.proven = proven;
    result_.cost = result_.cut ? best_ : kUnreachable;
    result_.lower_bound = proven ? best_ : std::min(least, best_);
    return std::move(result_);
  }

  /// Rounding never hides a cut that is better by more than this share.
  [[nodiscard]] double limit() const { return best_ * (1.0 - 1e-12); }

  double judge(const Cut& cut) {
    ++result_.judged_count;
    const double cost = problem_.cost(cut);
    if (cost < best_) {
      best_ = cost;
      result_.cut = cut;
    }
    return cost;
  }

  /// Descends by carrying one layer from a stage to another one through those between them, until
  /// nothing improves or `most` cuts were judged in all. Returns where it ends.
  Bottleneck descend(Cut cut, std::int64_t most) {
    double cost = judge(cut);
    bool improved = true;
    while (improved) {
      improved = false;
      for (int distance = 1; distance < problem_.stage_count; ++distance) {
        for (int low = 0; low + distance < problem_.stage_count; ++low) {
          for (const int step : {-1, 1}) {
            if (result_.judged_count >= most) return {std::move(cut), cost};
            Cut moved = cut;
            for (int at = low + 1; at <= low + distance; ++at) moved[index_of(at)] += step;
            if (!promising(moved, low, low + distance, cost)) continue;
            const double moved_cost = judge(moved);
            if (moved_cost >= cost) continue;
            cost = moved_cost;
            cut = std::move(moved);
            improved = true;
          }
        }
      }
    }
    return {std::move(cut), cost};
  }

  /// Iterated local search (Lourenco, Martin, Stuetzle 2003) with what is left to judge: carries a
  /// few layers at random from the best cut known and descends again. Its own generator, so that
  /// the answer is the same everywhere.
  void shake() {
    std::uint64_t state = 1;
    const auto below = [&state](int count) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      return static_cast<int>((state >> 33U) % static_cast<std::uint64_t>(count));
    };
    if (!result_.cut || problem_.stage_count < 2) return;
    for (std::int64_t round = 0; round < limits_.judged_count; ++round) {
      if (result_.judged_count >= limits_.judged_count) return;
      Cut moved = *result_.cut;
      for (int kick = 0; kick < 4; ++kick) {
        Cut kicked = moved;
        kicked[index_of(1 + below(problem_.stage_count - 1))] += below(2) == 0 ? 1 : -1;
        if (promising(kicked, 0, problem_.stage_count - 1, kBlocked)) moved = std::move(kicked);
      }
      if (moved != *result_.cut) descend(std::move(moved), limits_.judged_count);
    }
  }

  /// Whether a cut is one, and its stages [low, high] stay below `limit`.
  [[nodiscard]] bool promising(const Cut& cut, int low, int high, double limit) const {
    if (cut[1] < 1 && problem_.stage_count > 1) return false;
    if (cut[index_of(problem_.stage_count - 1)] >= problem_.layer_count) return false;
    for (int stage = low; stage <= high; ++stage) {
      if (cut[index_of(stage)] > cut[index_of(stage) + 1]) return false;
    }
    for (int stage = low; stage <= high; ++stage) {
      const double own = problem_.bound(stage, cut[index_of(stage)], cut[index_of(stage) + 1]);
      if (own >= limit) return false;
    }
    return true;
  }

  /// Depth first; true when every branch was judged or excluded.
  bool branch(std::int64_t most) {
    std::vector<std::vector<Branch>> open(index_of(problem_.stage_count));
    Cut cut(index_of(problem_.stage_count) + 1, 0);
    int stage = 0;
    expand(0, 0, 0.0, open[0]);
    while (stage >= 0) {
      std::vector<Branch>& branches = open[index_of(stage)];
      if (branches.empty() || branches.back().least >= limit()) {
        branches.clear();
        --stage;
        continue;
      }
      const Branch next = branches.back();
      if (result_.judged_count >= most || ++result_.branch_count > limits_.branch_count)
        return false;
      branches.pop_back();
      cut[index_of(stage) + 1] = next.last;
      if (problem_.prefix_bound && problem_.prefix_bound(cut, stage + 1) >= limit()) continue;
      if (stage + 1 == problem_.stage_count) {
        judge(cut);
      } else {
        ++stage;
        expand(stage, next.last, next.so_far, open[index_of(stage)]);
      }
    }
    return true;
  }

  /// The ways on from a stage that starts at `first`, the most promising last.
  void expand(int stage, int first, double so_far, std::vector<Branch>& branches) const {
    const double most = limit();
    table_->for_each_end(stage, first, most, [&](int last, double own, double both) {
      branches.push_back({last, std::max(so_far, own), std::max(so_far, both)});
    });
    std::ranges::sort(branches, [](const Branch& a, const Branch& b) {
      return std::pair(a.least, a.last) > std::pair(b.least, b.last);
    });
  }

  const CutProblem& problem_;
  const SearchLimits& limits_;
  std::optional<SuffixTable> table_;
  double best_;
  CutResult result_;
};

}  // namespace

std::optional<Bottleneck> least_bottleneck(int layer_count, int stage_count,
                                           const StageBound& bound, double ceiling) {
  assert(stage_count >= 1 && stage_count <= layer_count);
  const SuffixTable table(layer_count, stage_count, bound, ceiling);
  if (table.at(0, 0) >= ceiling) return std::nullopt;
  return Bottleneck{table.cut(), table.at(0, 0)};
}

namespace {

/// The cut in which every stage takes as many layers as `most` allows; empty when they do not reach
/// the end.
std::optional<Bottleneck> greedy_cut(int layer_count, int stage_count, const StageBound& bound,
                                     double most) {
  Bottleneck found{{0}, 0.0};
  for (int stage = 0; stage + 1 < stage_count; ++stage) {
    const int first = found.cut.back();
    int fits = stage == 0 ? 0 : first;  // the first stage holds a layer
    for (int low = fits + 1, high = layer_count - 1; low <= high;) {
      const int middle = low + (high - low) / 2;
      if (bound(stage, first, middle) <= most) {
        fits = middle;
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    const double own = bound(stage, first, fits);
    if (fits == 0 || own > most || own == kBlocked) return std::nullopt;
    found.bound = std::max(found.bound, own);
    found.cut.push_back(fits);
  }
  const double own = bound(stage_count - 1, found.cut.back(), layer_count);
  if (own > most || own >= kBlocked) return std::nullopt;
  found.bound = std::max(found.bound, own);
  found.cut.push_back(layer_count);
  return found;
}

}  // namespace

std::optional<Bottleneck> quick_bottleneck(int layer_count, int stage_count,
                                           const StageBound& bound) {
  assert(stage_count >= 1 && stage_count <= layer_count);
  std::optional<Bottleneck> best = greedy_cut(layer_count, stage_count, bound, kBlocked);
  double low = 0.0;
  for (int round = 0; best && round < 40 && best->bound - low > 1e-9 * best->bound; ++round) {
    const double middle = low + (best->bound - low) / 2;
    if (std::optional<Bottleneck> found = greedy_cut(layer_count, stage_count, bound, middle)) {
      best = std::move(found);
    } else {
      low = middle;
    }
  }
  return best;
}

CutResult cheapest_cut(const CutProblem& problem, const SearchLimits& limits) {
  assert(problem.stage_count >= 1 && problem.stage_count <= problem.layer_count);
  return Search(problem, limits).run();
}

CutResult improved_cut(const CutProblem& problem, const SearchLimits& limits) {
  assert(problem.start);
  return Search(problem, limits).run_descent();
}

}  // namespace ppplan::planner
