#include "planner/cost_book.h"

#include <algorithm>

namespace ppplan::planner {

CostBook::CostBook(const Profile& profile, std::int64_t sequence, int devices_per_node,
                   bool forward_only)
    : profile_(profile),
      sequence_(sequence),
      per_node_(devices_per_node),
      forward_only_(forward_only),
      network_(profile) {}

/// More busy devices than were measured make no difference.
CostBook::TableKey CostBook::key(const Sharding& sharding, std::int64_t chunk,
                                 int device_count) const {
  const int measured = std::max(1, static_cast<int>(profile_.devices.size()));
  return {sharding, chunk, std::min(device_count, measured)};
}

const CostTable& CostBook::table(const Sharding& sharding, std::int64_t chunk, int device_count) {
  std::unique_ptr<CostTable>& table = tables_[key(sharding, chunk, device_count)];
  if (!table) {
    const Geometry geometry({.sharding = sharding}, 1, per_node_);
    const RowChoice rows{sequence_, sharding, chunk, device_count, forward_only_};
    table = std::make_unique<CostTable>(profile_, rows, network_, geometry);
  }
  return *table;
}

ChainCosts CostBook::chain(const Layout& layout, int rank_count, std::int64_t chunk,
                           const std::vector<int>& class_sizes) {
  const int device_count = layout.device_count() * rank_count;
  const Geometry geometry(layout, rank_count, per_node_);
  const Replicas replicas{geometry.replicas(), layout.data_sharding, geometry};
  const bool divided = replicas.sharding == DataSharding::kParameters;
  const ChainKey chain_key{key(layout.sharding, chunk, device_count), class_sizes,
                           divided ? replicas.group.devices : 0,
                           divided ? replicas.group.per_node : 0};
  auto known = chains_.find(chain_key);
  if (known == chains_.end()) {
    const CostTable& costs = table(layout.sharding, chunk, device_count);
    const Replicas in_times = divided ? replicas : Replicas{};
    known = chains_.emplace(chain_key, ChainCosts(profile_, costs, class_sizes, network_, in_times))
                .first;
  }
  return known->second.replicated(replicas);
}

}  // namespace ppplan::planner
