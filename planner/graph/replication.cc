#include "planner/graph/replication.h"

#include <algorithm>

namespace ppplan::planner {
namespace {

/// Bytes of the tensors made in an ideal and read outside, by ideal. O(ideals * tensors of an
/// item).
std::vector<double> leaving_bytes(const ItemGraph& graph, const Lattice& lattice) {
  const std::size_t item_count = graph.items.size();
  std::vector<std::vector<std::size_t>> read_by(item_count);
  std::vector<double> made(item_count, 0.0);
  std::vector<std::size_t> unread(graph.tensors.size());
  for (std::size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
    made[static_cast<std::size_t>(graph.tensors[tensor].home)] += graph.tensors[tensor].cost;
    unread[tensor] = graph.tensors[tensor].readers.size();
    for (const int reader : graph.tensors[tensor].readers) {
      read_by[static_cast<std::size_t>(reader)].push_back(tensor);
    }
  }
  std::vector<double> leaving(lattice.size(), 0.0);
  std::vector<Lattice::Ideal> way = {0};
  for (Lattice::Ideal ideal = 1; ideal < lattice.size(); ++ideal) {
    for (; way.back() != lattice.parent(ideal); way.pop_back()) {
      for (const std::size_t tensor : read_by[lattice.last(way.back())]) ++unread[tensor];
    }
    way.push_back(ideal);
    const std::size_t item = lattice.last(ideal);
    leaving[ideal] = leaving[lattice.parent(ideal)] + made[item];
    for (const std::size_t tensor : read_by[item]) {
      if (--unread[tensor] == 0) leaving[ideal] -= graph.tensors[tensor].cost;
    }
  }
  return leaving;
}

template <typename Member>
std::vector<double> sums_of(const ItemGraph& graph, const Lattice& lattice, Member member) {
  std::vector<double> of_item;
  for (const Item& item : graph.items) of_item.push_back(item.*member);
  return lattice.sums(of_item);
}

}  // namespace

PipelineSums::PipelineSums(const ItemGraph& graph, const Lattice& lattice)
    : time(sums_of(graph, lattice, &Item::time)),
      bytes(sums_of(graph, lattice, &Item::bytes)),
      parameters(sums_of(graph, lattice, &Item::parameters)),
      leaving(leaving_bytes(graph, lattice)) {}

double replicated_time(const ReplicationLevel& level, double time, double parameters,
                       int replicas) {
  const double reduction =
      4.0 * (replicas - 1) * parameters / (level.bytes_per_s * replicas * level.devices_per_unit);
  return (time + reduction) / replicas;
}

int copies_in_flight(int later, int replicas) {
  return (later + replicas - 1) / replicas;
}

PipelineTable::PipelineTable(const PipelineSums& sums, const ReplicationLevel& level, Ends ends)
    : sums_(sums),
      level_(level),
      ends_(ends),
      table_(sums.time.size(), static_cast<std::size_t>(level.units) + 1),
      end_(sums.time.size()) {}

void PipelineTable::restart(Ideal start, ValueRange range) {
  for (const Ideal ideal : ended_) end_[ideal] = {};
  ended_.clear();
  table_.restart(start);
  // All units not yet used are counted as later ones. Those that stay idle are none, so where
  // memory is limited pipelines may also leave units out at the start.
  for (int idle = 1; level_.memory_bytes < kUnreached && idle < level_.units; ++idle) {
    table_.relax(start, static_cast<std::size_t>(idle), 0.0, start, 0);
  }
  start_ = start;
  range_ = range;
}

bool PipelineTable::open(Ideal base, double rest) {
  const bool fewer_is_better = level_.memory_bytes == kUnreached;
  open_.clear();
  double least_value = kUnreached;
  const StageTable::Reach reach = table_.reach(base);
  for (int used = static_cast<int>(std::min(reach.first, reach.end));
       used < std::min(static_cast<int>(reach.end), level_.units); ++used) {
    const double value = table_.value(base, static_cast<std::size_t>(used));
    if (!(value < range_.bound) || (fewer_is_better && !(value < least_value))) continue;
    if (rest > (level_.units - used) * level_.devices_per_unit * range_.bound) continue;
    open_.push_back(used);
    least_value = std::min(least_value, value);
  }
  return !open_.empty();
}

bool PipelineTable::relax(Ideal base, Ideal ideal, double time) {
  const double bytes = sums_.bytes[ideal] - sums_.bytes[base];
  const double parameters = sums_.parameters[ideal] - sums_.parameters[base];
  const double receive = base == start_ ? 0.0 : 2.0 * sums_.leaving[base] / level_.bytes_per_s;
  const double send = 2.0 * sums_.leaving[ideal] / level_.bytes_per_s;
  const int most = level_.replicates ? level_.units - open_.front() : 1;
  // Fewer replicas than this cannot do it in time. What a stage sends may fall as it grows.
  const auto needed = [&](double seconds) {
    return static_cast<int>(std::clamp(seconds / range_.bound, 1.0, most + 1.0));
  };
  const int least_to_grow = needed(std::max(time, receive));
  const int least =
      ends_ == Ends::kAnywhere ? least_to_grow : std::max(least_to_grow, needed(send));
  bool may_grow = least_to_grow < least;
  for (const int used : open_) {
    const double before = table_.value(base, static_cast<std::size_t>(used));
    for (int replicas = least; replicas <= std::min(most, level_.units - used); ++replicas) {
      ++work_;
      const double own = replicated_time(level_, time, parameters, replicas);
      if (!(own < range_.bound)) continue;
      if (copies_in_flight(level_.units - used - replicas, replicas) * bytes > level_.memory_bytes)
        continue;
      may_grow = true;
      const double load = std::max({before, own, receive / replicas, range_.floor});
      const double sending = std::max(load, send / replicas);
      const auto now_used = static_cast<std::size_t>(used + replicas);
      const bool better =
          load < end_[ideal].value || (load == end_[ideal].value && now_used < end_[ideal].units);
      if (better) {
        if (end_[ideal].value == kUnreached) ended_.push_back(ideal);
        end_[ideal] = {load, base, static_cast<std::uint32_t>(used),
                       static_cast<std::uint32_t>(now_used)};
      }
      if (sending < range_.bound) {
        table_.relax(ideal, now_used, sending, base, static_cast<std::size_t>(used));
      }
      // More replicas would only lower what is no bottleneck.
      if (sending <= std::max(before, range_.floor) && level_.memory_bytes == kUnreached) break;
    }
  }
  return may_grow;
}

std::vector<Segment> PipelineTable::stages(Ideal ideal) const {
  const End& end = end_[ideal];
  std::vector<Segment> stages = table_.stages(start_, end.from, end.units_before);
  stages.push_back(
      {.from = end.from, .to = ideal, .state_before = end.units_before, .state_after = end.units});
  return stages;
}

}  // namespace ppplan::planner
