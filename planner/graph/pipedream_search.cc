#include "planner/graph/pipedream_search.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ppplan::planner {
namespace {

constexpr double kBarelyMore = 1.0 + 1e-9;

}  // namespace

class PipeDreamSearch::StageVisitor {
 public:
  StageVisitor(PipeDreamSearch& search, Ideal base) : search_(search), base_(base) {}

  bool add(std::size_t /*item*/, Ideal ideal) {
    if (!search_.complete_) return false;
    ++search_.pair_count_;
    const double time = search_.sums_.time[ideal] - search_.sums_.time[base_];
    const bool may_grow = search_.tables_.front().relax(base_, ideal, time);
    search_.complete_ = search_.work() < search_.most_work_;
    return may_grow;
  }
  void remove(std::size_t /*item*/) {}

 private:
  PipeDreamSearch& search_;
  Ideal base_;
};

PipeDreamSearch::PipeDreamSearch(const ItemGraph& graph, const Lattice& lattice,
                                 const std::vector<ReplicationLevel>& levels)
    : lattice_(lattice), sums_(graph, lattice), walk_(lattice) {
  for (const ReplicationLevel& level : levels) {
    const bool outermost = &level == &levels.back();
    tables_.emplace_back(
        sums_, level,
        outermost ? PipelineTable::Ends::kAtFullIdeal : PipelineTable::Ends::kAnywhere);
  }
}

double PipeDreamSearch::least(ValueRange range, std::int64_t most_work) {
  most_work_ = most_work;
  work_before_ += work();
  tables_.back().restart(0, range);
  if (tables_.size() == 1) {
    search_machine(0, true);
  } else {
    search_machines();
  }
  return tables_.back().end(lattice_.full());
}

std::int64_t PipeDreamSearch::work() const {
  std::int64_t work = pair_count_ - work_before_;
  for (const PipelineTable& table : tables_) work += table.work();
  return work;
}

/// The best pipelines inside a machine, from `start` to every ideal, or only to the full one.
void PipeDreamSearch::search_machine(Ideal start, bool to_the_end) {
  PipelineTable& table = tables_.front();
  const Ideal full = lattice_.full();
  for (Ideal base = start; base < full; ++base) {
    const double rest = to_the_end ? sums_.time[full] - sums_.time[base] : 0.0;
    if (!table.open(base, rest)) continue;
    if (!complete_) return;
    StageVisitor visitor(*this, base);
    walk_.above(base, visitor);
    if (to_the_end) table.tighten(std::min(table.range().bound, table.end(full)));
  }
}

/// Pipelines of machines, each stage a pipeline inside every one of its machines.
void PipeDreamSearch::search_machines() {
  PipelineTable& inner = tables_.front();
  PipelineTable& outer = tables_.back();
  const Ideal full = lattice_.full();
  for (Ideal base = 0; base < full; ++base) {
    if (!outer.open(base, sums_.time[full] - sums_.time[base])) continue;
    if (!complete_) return;
    inner.restart(
        base, {.floor = outer.range().floor, .bound = outer.range().bound * outer.level().units});
    search_machine(base, false);
    for (const Ideal ideal : inner.ended()) outer.relax(base, ideal, inner.end(ideal));
    outer.tighten(std::min(outer.range().bound, outer.end(full)));
  }
}

std::vector<Segment> PipeDreamSearch::stages() {
  std::vector<Segment> stages = tables_.back().stages(lattice_.full());
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    stages[stage].group = static_cast<int>(stage);
  }
  if (tables_.size() == 1) return stages;
  // What was found is found again, even where the work was too much to go on.
  most_work_ = std::numeric_limits<std::int64_t>::max();
  const bool complete = std::exchange(complete_, true);
  const double value = tables_.back().end(lattice_.full());
  std::vector<Segment> inside;
  for (const Segment& machines : stages) {
    const auto machine_count = static_cast<int>(machines.state_after - machines.state_before);
    PipelineTable& inner = tables_.front();
    inner.restart(machines.from, {.bound = value * machine_count * kBarelyMore});
    search_machine(machines.from, false);
    for (Segment& segment : inner.stages(machines.to)) {
      segment.group = machines.group;
      segment.machines = machine_count;
      inside.push_back(segment);
    }
  }
  complete_ = complete;
  return inside;
}

}  // namespace ppplan::planner
