#include "planner/graph/max_load_search.h"

#include <algorithm>
#include <tuple>

namespace ppplan::planner {
namespace {

template <typename Member>
std::vector<double> sums_of(const ItemGraph& graph, const Lattice& lattice, const Member& member) {
  std::vector<double> of_item;
  for (const Item& item : graph.items) of_item.push_back(member(item));
  return lattice.sums(of_item);
}

}  // namespace

MaxLoadSearch::MaxLoadSearch(const ItemGraph& graph, const Lattice& lattice,
                             const MaxLoadLimits& limits)
    : graph_(graph),
      lattice_(lattice),
      limits_(limits),
      states_(limits),
      table_(lattice.size(), states_.count),
      meter_(graph),
      walk_(lattice),
      time_(sums_of(graph, lattice, [](const Item& item) { return item.time; })),
      cpu_time_(sums_of(graph, lattice, [](const Item& item) { return item.cpu_time; })),
      bytes_(sums_of(graph, lattice, [](const Item& item) { return item.bytes; })),
      not_accelerator_(
          sums_of(graph, lattice, [](const Item& item) { return item.accelerator ? 0.0 : 1.0; })),
      not_cpu_(sums_of(graph, lattice, [](const Item& item) { return item.cpu ? 0.0 : 1.0; })),
      crossing_(lattice.size(), kUnreached) {}

/// Forms stages that start at one base and end up to the next relay point.
class MaxLoadSearch::StageVisitor {
 public:
  StageVisitor(MaxLoadSearch& search, Ideal base, const Promise& promise, Ideal end)
      : search_(search), base_(base), promise_(promise), end_(end) {}

  bool add(std::size_t item, Ideal ideal) {
    const Choice fits = search_.fitting(base_, ideal, cost_.settled);
    Promise promise = promise_;
    promise.choice.accelerator = promise.choice.accelerator && fits.accelerator;
    promise.choice.cpu = promise.choice.cpu && fits.cpu;
    if (!promise.choice.any()) return false;
    if (!search_.count_pair(promise.last - promise.first + 1)) return false;
    const TransferMeter::Cost before = cost_;
    cost_ = search_.meter_.add(item, before);
    const double load = search_.time_[ideal] - search_.time_[base_] + cost_.total;
    search_.relax(base_, ideal, promise, load);
    if (ideal != end_) {
      saved_.push_back(before);
      return true;
    }
    if (promise.choice.accelerator) search_.crossing_[base_] = load;
    search_.meter_.remove(item);
    cost_ = before;
    return false;
  }

  void remove(std::size_t item) {
    search_.meter_.remove(item);
    cost_ = saved_.back();
    saved_.pop_back();
  }

 private:
  MaxLoadSearch& search_;
  Ideal base_;
  Promise promise_;
  Ideal end_;
  TransferMeter::Cost cost_;
  std::vector<TransferMeter::Cost> saved_;
};

/// Forms stages that start before a relay point and end behind it.
class MaxLoadSearch::RelayVisitor {
 public:
  RelayVisitor(MaxLoadSearch& search, Ideal point, Ideal first_source)
      : search_(search), point_(point) {
    collect(first_source);
    order(search_.crossing_, accelerator_sources_, accelerator_);
    order(cpu_cost_, cpu_sources_, cpu_);
  }

  [[nodiscard]] bool useful() const {
    return !accelerator_sources_.empty() || !cpu_sources_.empty();
  }

  bool add(std::size_t item, Ideal ideal) {
    const bool at_point = ideal == point_;
    const Choice fits = at_point ? Choice{true, true} : fitting(ideal);
    if (!fits.any() || !search_.count_pair(search_.states_.count)) return false;
    saved_.push_back(cost_);
    cost_ = search_.meter_.add(item, cost_);
    if (at_point) {
      cost_at_point_ = cost_.total;
    } else {
      if (fits.accelerator) relax_accelerator(ideal);
      if (fits.cpu) relax_cpu(ideal);
      if (ideal == search_.lattice_.full()) search_.tighten();
    }
    return true;
  }

  void remove(std::size_t item) {
    search_.meter_.remove(item);
    cost_ = saved_.back();
    saved_.pop_back();
  }

 private:
  void collect(Ideal first_source) {
    const MaxLoadSearch& s = search_;
    cpu_cost_.assign(point_, kUnreached);
    for (Ideal from = first_source; from < point_; ++from) {
      if (!(s.table_.least(from) < s.bound_)) continue;
      if (s.crossing_[from] < kUnreached) {
        accelerator_sources_.push_back(from);
        least_time_ = std::min(least_time_, s.time_[point_] - s.time_[from]);
        most_bytes_ = std::max(most_bytes_, s.bytes_[from]);
        least_bytes_ = std::min(least_bytes_, s.bytes_[from]);
      }
      const double cpu_time = s.cpu_time_[point_] - s.cpu_time_[from];
      if (s.limits_.cpus > 0 && s.not_cpu_[point_] == s.not_cpu_[from] && cpu_time < s.bound_) {
        cpu_sources_.push_back(from);
        cpu_cost_[from] = cpu_time;
        least_cpu_time_ = std::min(least_cpu_time_, cpu_time);
      }
    }
  }

  void order(const std::vector<double>& cost, std::vector<Ideal>& sources,
             std::vector<Beginnings>& fronts) const {
    std::sort(sources.begin(), sources.end(),
              [&](Ideal a, Ideal b) { return std::tie(cost[a], a) < std::tie(cost[b], b); });
    fronts.resize(search_.table_.state_count());
    for (std::size_t state = 0; state < fronts.size(); ++state) {
      for (const Ideal from : sources) {
        const double value = search_.table_.value(from, state);
        if (value < search_.bound_) fronts[state].add({cost[from], value, from});
      }
    }
  }

  [[nodiscard]] Choice fitting(Ideal ideal) const {
    const MaxLoadSearch& s = search_;
    Choice fits = s.fitting(point_, ideal, 0.0);
    fits.accelerator = fits.accelerator && !accelerator_sources_.empty() &&
                       least_time_ + s.time_[ideal] - s.time_[point_] < s.bound_ &&
                       s.bytes_[ideal] - most_bytes_ <= s.limits_.memory_bytes;
    fits.cpu = fits.cpu && !cpu_sources_.empty() &&
               least_cpu_time_ + s.cpu_time_[ideal] - s.cpu_time_[point_] < s.bound_;
    return fits;
  }

  void relax_accelerator(Ideal ideal) {
    MaxLoadSearch& s = search_;
    const double rest = s.time_[ideal] - s.time_[point_] + cost_.total - cost_at_point_;
    const bool all_fit = s.bytes_[ideal] - least_bytes_ <= s.limits_.memory_bytes;
    const std::size_t next = s.states_.per_accelerator;
    for (std::size_t state = 0; state + next < s.table_.state_count(); ++state) {
      if (accelerator_[state].empty()) continue;
      if (all_fit) {
        const Beginnings::Best best = accelerator_[state].best(rest);
        s.table_.relax(ideal, state + next, best.value, best.from, state);
        continue;
      }
      for (const Ideal from : accelerator_sources_) {
        const double load = s.crossing_[from] + rest;
        if (!(load < s.bound_)) break;  // sources stand by ascending load
        if (s.bytes_[ideal] - s.bytes_[from] > s.limits_.memory_bytes) continue;
        s.table_.relax(ideal, state + next, std::max(load, s.table_.value(from, state)), from,
                       state);
      }
    }
  }

  void relax_cpu(Ideal ideal) {
    MaxLoadSearch& s = search_;
    const double rest = s.cpu_time_[ideal] - s.cpu_time_[point_];
    for (std::size_t state = 0; state < s.table_.state_count(); ++state) {
      if (cpu_[state].empty() || s.states_.cpus(state) == s.limits_.cpus) continue;
      const Beginnings::Best best = cpu_[state].best(rest);
      s.table_.relax(ideal, state + 1, best.value, best.from, state);
    }
  }

  MaxLoadSearch& search_;
  Ideal point_;
  std::vector<Ideal> accelerator_sources_;  ///< by ascending load up to the point
  std::vector<Ideal> cpu_sources_;
  std::vector<double> cpu_cost_;         ///< by ideal
  std::vector<Beginnings> accelerator_;  ///< by state
  std::vector<Beginnings> cpu_;
  double least_time_ = kUnreached;
  double least_cpu_time_ = kUnreached;
  double most_bytes_ = 0.0;
  double least_bytes_ = kUnreached;
  TransferMeter::Cost cost_;
  double cost_at_point_ = 0.0;
  std::vector<TransferMeter::Cost> saved_;
};

double MaxLoadSearch::least(ValueRange range, std::int64_t most_work) {
  bound_ = range.bound;
  floor_ = range.floor;
  work_ = 0;
  most_work_ = most_work;
  relief_.clear();
  for (int cpus = 0; cpus <= limits_.cpus; ++cpus) {
    relief_.push_back(cpu_relief(graph_.items, cpus, bound_));
  }
  table_.restart(0);
  std::fill(crossing_.begin(), crossing_.end(), kUnreached);
  const std::vector<RelayPoint> points = additive_relay_points(graph_, lattice_);
  auto point = points.begin();
  Ideal block = 0;
  for (Ideal base = 0; base < lattice_.full(); ++base) {
    enter(base);
    if (point != points.end() && point->ideal == base) {
      pass_relay(*point, block);
      block = base;
      ++point;
    }
    const Promise promise = promising(base);
    if (!complete_) break;
    if (!promise.choice.any()) continue;
    StageVisitor visitor(*this, base, promise,
                         point == points.end() ? lattice_.full() : point->ideal);
    walk_.above(base, visitor);
  }
  leave();
  return table_.least(lattice_.full());
}

/// Follows the tree of parents to the base, so that the meter knows what lies before a stage.
void MaxLoadSearch::enter(Ideal base) {
  if (base == 0) return;
  for (; way_.back() != lattice_.parent(base); way_.pop_back()) {
    meter_.unplace(lattice_.last(way_.back()));
  }
  way_.push_back(base);
  meter_.place_before(lattice_.last(base));
}

void MaxLoadSearch::leave() {
  for (; way_.size() > 1; way_.pop_back()) meter_.unplace(lattice_.last(way_.back()));
}

/// Forgets the base's states from which no cut below the bound can come, and those that have used
/// more accelerators than another for nothing.
MaxLoadSearch::Promise MaxLoadSearch::promising(Ideal base) {
  Promise promise{.first = states_.count};
  const double rest = time_.back() - time_[base];
  least_values_.assign(static_cast<std::size_t>(states_.cpu_states), bound_);
  const StageTable::Reach reach = table_.reach(base);
  for (std::size_t state = reach.first; state < reach.end; ++state) {
    const int cpus_left = limits_.cpus - states_.cpus(state);
    const int left = limits_.accelerators - states_.accelerators(state);
    const double own = left == 0 ? 0.0 : left * bound_;
    double& least_value = least_values_[static_cast<std::size_t>(cpus_left)];
    const double value = table_.value(base, state);
    if (!(value < least_value) || left + cpus_left == 0 ||
        rest > own + relief_[static_cast<std::size_t>(cpus_left)] + kRounding * time_.back()) {
      table_.forget(base, state);
      continue;
    }
    least_value = value;
    promise.first = std::min(promise.first, state);
    promise.last = state;
    promise.choice.accelerator = promise.choice.accelerator || left > 0;
    promise.choice.cpu = promise.choice.cpu || cpus_left > 0;
  }
  return promise;
}

MaxLoadSearch::Choice MaxLoadSearch::fitting(Ideal base, Ideal ideal, double settled) const {
  return {.accelerator = time_[ideal] - time_[base] + settled < bound_ &&
                         bytes_[ideal] - bytes_[base] <= limits_.memory_bytes &&
                         not_accelerator_[ideal] == not_accelerator_[base],
          .cpu = limits_.cpus > 0 && cpu_time_[ideal] - cpu_time_[base] < bound_ &&
                 not_cpu_[ideal] == not_cpu_[base]};
}

void MaxLoadSearch::relax(Ideal base, Ideal ideal, const Promise& promise, double load) {
  if (promise.choice.accelerator && load < bound_) {
    const std::size_t next = states_.per_accelerator;
    load = std::max(load, floor_);
    for (std::size_t state = promise.first; state <= promise.last; ++state) {
      if (state + next >= states_.count) break;
      table_.relax(ideal, state + next, std::max(table_.value(base, state), load), base, state);
    }
  }
  if (promise.choice.cpu) {
    const double cpu_load = std::max(cpu_time_[ideal] - cpu_time_[base], floor_);
    for (std::size_t state = promise.first; state <= promise.last; ++state) {
      if (states_.cpus(state) == limits_.cpus) continue;
      table_.relax(ideal, state + 1, std::max(table_.value(base, state), cpu_load), base, state);
    }
  }
  if (ideal == lattice_.full()) tighten();
}

bool MaxLoadSearch::count_pair(std::size_t states) {
  ++pair_count_;
  work_ += static_cast<std::int64_t>(states);
  complete_ = complete_ && work_ < most_work_;
  return complete_;
}

void MaxLoadSearch::pass_relay(const RelayPoint& point, Ideal first_source) {
  RelayVisitor visitor(*this, point.ideal, first_source);
  if (!visitor.useful()) return;
  // Stages are formed from just before the point; what differs from there on is what lies behind.
  meter_.unplace(point.item);
  walk_.above(lattice_.parent(point.ideal), visitor);
  meter_.place_before(point.item);
}

double cpu_relief(const std::vector<Item>& items, int cpus, double bound) {
  if (cpus == 0) return 0.0;
  std::vector<const Item*> order;
  for (const Item& item : items) {
    // What takes no time on either would be as good as all others, and leave them unordered.
    if (item.cpu && item.time > 0.0) order.push_back(&item);
  }
  std::sort(order.begin(), order.end(), [](const Item* a, const Item* b) {
    return a->time * b->cpu_time > b->time * a->cpu_time;
  });
  double left = cpus * bound;
  double relieved = 0.0;
  for (const Item* item : order) {
    const double taken = std::min(item->cpu_time, left);
    relieved += item->cpu_time > 0.0 ? item->time * (taken / item->cpu_time) : item->time;
    left -= taken;
  }
  return relieved;
}

}  // namespace ppplan::planner
