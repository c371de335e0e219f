// The cost tables and layer costs that many sizes of one question share, made when first asked for.
#pragma once

#include "planner/chain_costs.h"
#include "planner/cost_table.h"
#include "planner/network.h"

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace ppplan::planner {

class CostBook {
 public:
  /// `profile` must outlive this.
  CostBook(const Profile& profile, std::int64_t sequence, int devices_per_node,
           bool forward_only = false);

  /// Throws Error(kBadInput) as CostTable does.
  const CostTable& table(const Sharding& sharding, std::int64_t chunk, int device_count);

  /// Of micro-batches of these sizes, by class.
  ChainCosts chain(const Layout& layout, int rank_count, std::int64_t chunk,
                   const std::vector<int>& class_sizes);

 private:
  using TableKey = std::tuple<Sharding, std::int64_t, int>;
  /// With the group where parameters are divided: it is in the layers' times.
  using ChainKey = std::tuple<TableKey, std::vector<int>, int, int>;

  [[nodiscard]] TableKey key(const Sharding& sharding, std::int64_t chunk, int device_count) const;

  const Profile& profile_;
  std::int64_t sequence_;
  int per_node_;
  bool forward_only_;
  Network network_;
  std::map<TableKey, std::unique_ptr<CostTable>> tables_;
  std::map<ChainKey, ChainCosts> chains_;
};

}  // namespace ppplan::planner
