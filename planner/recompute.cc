#include "planner/recompute.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace ppplan::planner {
namespace {

constexpr std::int64_t kMostCombinations = 20'000;

/// Equal layers of a stage.
struct Group {
  std::vector<int> layers;  ///< rising
  bool selective = false;   ///< what is offered
  bool full = false;
  double selective_s = 0.0;  ///< added by one layer
  double full_s = 0.0;
  double freed_bytes = 0.0;  ///< by one layer that recomputes as much as is offered

  [[nodiscard]] int count() const { return static_cast<int>(layers.size()); }
  [[nodiscard]] double most_s() const { return full ? full_s : selective_s; }
  [[nodiscard]] std::int64_t combinations() const {
    const std::int64_t one = count() + 1;
    return selective && full ? one * (count() + 2) / 2 : one;
  }
};

/// How many layers of a group recompute; the first ones fully, the next selectively.
struct Counts {
  int full = 0;
  int selective = 0;
};

bool offered(const ChainCosts& chain, int layer, Recompute recompute, Recompute most) {
  return recompute <= most && chain.offers(layer, recompute);
}

std::vector<Group> groups_of(const ChainCosts& chain, int first, int last, Recompute most) {
  std::vector<Group> groups;
  for (int layer = first; layer < last; ++layer) {
    const auto same = std::ranges::find_if(groups, [&](const Group& group) {
      return chain.alike(group.layers.front()) == chain.alike(layer);
    });
    if (same != groups.end()) {
      same->layers.push_back(layer);
      continue;
    }
    groups.push_back({.layers = {layer},
                      .selective = offered(chain, layer, Recompute::kSelective, most),
                      .full = offered(chain, layer, Recompute::kFull, most),
                      .selective_s = chain.added(layer, Recompute::kSelective).count(),
                      .full_s = chain.added(layer, Recompute::kFull).count()});
    Group& group = groups.back();
    group.freed_bytes = static_cast<double>(
        chain.freed(layer, group.full ? Recompute::kFull : Recompute::kSelective).count);
  }
  std::erase_if(groups, [](const Group& group) { return !group.selective && !group.full; });
  std::ranges::stable_sort(groups, {}, &Group::combinations);
  return groups;
}

void append(RecomputeChoice& choice, int layer, Recompute recompute, int segment = 1) {
  if (!choice.empty() && choice.back().recompute == recompute) {
    ++choice.back().last;
  } else {
    choice.push_back({layer, layer + 1, recompute, recompute == Recompute::kFull ? segment : 1});
  }
}

/// One search.
class Knapsack {
 public:
  Knapsack(const ChainCosts& chain, int first, int last, Recompute most, const ChoiceFits& fits)
      : first_(first), last_(last), fits_(fits), groups_(groups_of(chain, first, last, most)) {
    counts_.resize(groups_.size());
  }

  std::optional<RecomputeChoice> least() {
    if (fits_({})) return RecomputeChoice{};
    if (groups_.empty()) return std::nullopt;
    std::int64_t combinations = 1;
    for (std::size_t at = 0; at + 1 < groups_.size(); ++at) {
      combinations = std::min(kMostCombinations + 1, combinations * groups_[at].combinations());
    }
    if (combinations <= kMostCombinations) {
      enumerate(0, 0.0);
    } else {
      one_by_one();
    }
    return best_;
  }

 private:
  [[nodiscard]] RecomputeChoice choice() const {
    std::vector<Recompute> of_layer(static_cast<std::size_t>(last_ - first_), Recompute::kNone);
    for (std::size_t at = 0; at < groups_.size(); ++at) {
      const Counts& counts = counts_[at];
      for (int index = 0; index < counts.full + counts.selective; ++index) {
        const int layer = groups_[at].layers[static_cast<std::size_t>(index)];
        of_layer[static_cast<std::size_t>(layer - first_)] =
            index < counts.full ? Recompute::kFull : Recompute::kSelective;
      }
    }
    RecomputeChoice choice;
    for (int layer = first_; layer < last_; ++layer) {
      append(choice, layer, of_layer[static_cast<std::size_t>(layer - first_)]);
    }
    return choice;
  }

  /// Keeps the current counts if they fit and add less than the best known.
  bool keep(double added) {
    RecomputeChoice made = choice();
    if (!fits_(made)) return false;
    if (added < best_added_) {
      best_added_ = added;
      best_ = std::move(made);
    }
    return true;
  }

  void enumerate(std::size_t at, double added) {
    if (at + 1 == groups_.size()) return finish(at, added);
    const Group& group = groups_[at];
    for (int full = 0; full <= (group.full ? group.count() : 0); ++full) {
      for (int selective = 0; selective <= (group.selective ? group.count() - full : 0);
           ++selective) {
        const double own = full * group.full_s + selective * group.selective_s;
        if (added + own >= best_added_) break;
        counts_[at] = {full, selective};
        enumerate(at + 1, added + own);
      }
    }
    counts_[at] = {};
  }

  /// The counts of the last group: for each number of full layers the fewest selective ones. Where
  /// all of them full do not fit, none full is what is left to try: one full layer fewer frees less
  /// than it keeps.
  void finish(std::size_t at, double added) {
    const Group& group = groups_[at];
    const int most = group.full ? most_full(at, added) : 0;
    for (int full = 0; full <= most; ++full) {
      const double so_far = added + full * group.full_s;
      if (so_far >= best_added_) break;
      counts_[at] = {full, 0};
      if (keep(so_far)) break;  // more only adds
      if (group.selective) fewest_selective(at, full, so_far);
      if (!group.selective) full = std::max(full, most - 1);  // known to be too few
    }
    counts_[at] = {};
  }

  /// The fewest full layers of the last group that fit without selective ones; 0 where not even all
  /// do.
  int most_full(std::size_t at, double added) {
    const Group& group = groups_[at];
    int high = group.count();
    counts_[at] = {high, 0};
    if (!keep(added + high * group.full_s)) return 0;
    for (int low = 0; low + 1 < high;) {
      const int middle = low + (high - low) / 2;
      counts_[at] = {middle, 0};
      (keep(added + middle * group.full_s) ? high : low) = middle;
    }
    return high;
  }

  void fewest_selective(std::size_t at, int full, double added) {
    const Group& group = groups_[at];
    int low = 1;
    int high = group.count() - full;
    if (group.selective_s > 0.0 && best_added_ < std::numeric_limits<double>::infinity()) {
      const double room = (best_added_ - added) / group.selective_s;
      high = static_cast<int>(std::min<double>(high, room));
    }
    if (high < low) return;
    counts_[at] = {full, high};
    if (!keep(added + high * group.selective_s)) return;
    while (low < high) {
      const int middle = low + (high - low) / 2;
      counts_[at] = {full, middle};
      if (keep(added + middle * group.selective_s)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
  }

  /// Kinds one after the other: each recomputes fully before the next begins.
  void one_by_one() {
    std::ranges::stable_sort(groups_, [](const Group& a, const Group& b) {
      return a.freed_bytes * b.most_s() > b.freed_bytes * a.most_s();
    });
    double added = 0.0;
    for (std::size_t at = 0; at < groups_.size() && !best_; ++at) {
      finish(at, added);
      if (best_) return;
      const Group& group = groups_[at];
      counts_[at] = group.full ? Counts{group.count(), 0} : Counts{0, group.count()};
      added += group.count() * group.most_s();
    }
  }

  int first_;
  int last_;
  const ChoiceFits& fits_;
  std::vector<Group> groups_;
  std::vector<Counts> counts_;
  double best_added_ = std::numeric_limits<double>::infinity();
  std::optional<RecomputeChoice> best_;
};

}  // namespace

std::optional<RecomputeChoice> least_recompute(const ChainCosts& chain, int first, int last,
                                               Recompute most, const ChoiceFits& fits) {
  return Knapsack(chain, first, last, most, fits).least();
}

namespace {

/// The first layers that can, fully, in segments; the others as they are.
RecomputeChoice first_full(const ChainCosts& chain, int first, int last, int full_count,
                           int segment) {
  RecomputeChoice choice;
  for (int layer = first; layer < last; ++layer) {
    const bool full = full_count > 0 && chain.offers(layer, Recompute::kFull);
    append(choice, layer, full ? Recompute::kFull : Recompute::kNone, segment);
    full_count -= full ? 1 : 0;
  }
  return choice;
}

}  // namespace

std::optional<RecomputeChoice> least_segmented_recompute(const ChainCosts& chain, int first,
                                                         int last, Recompute most,
                                                         const ChoiceFits& fits) {
  std::optional<RecomputeChoice> best = least_recompute(chain, first, last, most, fits);
  if ((best && best->empty()) || most != Recompute::kFull) return best;
  const int longest = std::min(kLongestSegment, last - first);
  for (int segment = 2; segment <= longest; segment *= 2) {
    const auto with = [&](int full_count) {
      return first_full(chain, first, last, full_count, segment);
    };
    int high = last - first;
    if (!fits(with(high))) continue;
    for (int low = 0; low + 1 < high;) {
      const int middle = low + (high - low) / 2;
      (fits(with(middle)) ? high : low) = middle;
    }
    RecomputeChoice longer = with(high);
    if (!best || added_time(chain, longer) < added_time(chain, *best)) best = std::move(longer);
  }
  return best;
}

RecomputeChoice most_recompute(const ChainCosts& chain, int first, int last, Recompute most,
                               int segment) {
  RecomputeChoice choice;
  for (int layer = first; layer < last; ++layer) {
    append(choice, layer,
           offered(chain, layer, Recompute::kFull, most)        ? Recompute::kFull
           : offered(chain, layer, Recompute::kSelective, most) ? Recompute::kSelective
                                                                : Recompute::kNone,
           segment);
  }
  return choice;
}

RecomputeLadder::RecomputeLadder(const ChainCosts& chain, std::vector<LayerRun> stages,
                                 Recompute most)
    : stages_(std::move(stages)) {
  for (const Recompute recompute : {Recompute::kSelective, Recompute::kFull}) {
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      for (int layer = stages_[stage].first; layer < stages_[stage].last; ++layer) {
        if (offered(chain, layer, recompute, most)) rungs_.push_back({stage, layer, recompute});
      }
    }
  }
}

std::vector<RecomputeChoice> RecomputeLadder::at(int rung) const {
  std::vector<std::vector<Recompute>> options;
  for (const LayerRun& stage : stages_) {
    options.emplace_back(static_cast<std::size_t>(stage.last - stage.first), Recompute::kNone);
  }
  for (int index = 0; index < rung; ++index) {
    const Rung& one = rungs_[static_cast<std::size_t>(index)];
    options[one.stage][static_cast<std::size_t>(one.layer - stages_[one.stage].first)] =
        one.recompute;
  }
  std::vector<RecomputeChoice> choices(stages_.size());
  for (std::size_t stage = 0; stage < stages_.size() && rung > 0; ++stage) {
    for (std::size_t at = 0; at < options[stage].size(); ++at) {
      append(choices[stage], stages_[stage].first + static_cast<int>(at), options[stage][at]);
    }
  }
  return choices;
}

Seconds added_time(const ChainCosts& chain, const RecomputeChoice& choice) {
  Seconds added{0};
  for (const RecomputedRun& run : choice) {
    for (int layer = run.first; layer < run.last; ++layer)
      added += chain.added(layer, run.recompute);
  }
  return added;
}

}  // namespace ppplan::planner
