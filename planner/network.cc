#include "planner/network.h"

#include <algorithm>
#include <cstdlib>

namespace ppplan::planner {
namespace {

const Link* first_of(const Profile& profile, LinkScope scope) {
  const auto found = std::ranges::find_if(profile.links, [&](const Link& link) {
    return link.scope == scope && link.name != "exchange";
  });
  return found == profile.links.end() ? nullptr : &*found;
}

}  // namespace

Network::Network(const Profile& profile) {
  if (profile.links.empty()) return;
  inside_ = first_of(profile, LinkScope::kInside);
  between_ = first_of(profile, LinkScope::kBetween);
  if (inside_ == nullptr) inside_ = between_ != nullptr ? between_ : &profile.links.front();
  if (between_ == nullptr) between_ = inside_;
  const auto exchange = std::ranges::find(profile.links, "exchange", &Link::name);
  exchange_ = exchange == profile.links.end() ? inside_ : &*exchange;
}

Seconds Network::hop(LinkScope scope, Bytes size) const {
  if (inside_ == nullptr) return Seconds(0);
  const Link& link = scope == LinkScope::kInside ? *inside_ : *between_;
  return link.latency + size / link.bandwidth;
}

Seconds Network::exchange(Bytes size) const {
  if (exchange_ == nullptr) return Seconds(0);
  return exchange_->latency + size / exchange_->bandwidth;
}

Seconds Network::ring(CollectiveKind kind, double bytes, int devices, const Link& link) const {
  if (devices < 2) return Seconds(0);
  const Seconds piece = link.latency + Seconds(bytes / devices / link.bandwidth.value);
  return piece * (devices - 1) * (kind == CollectiveKind::kAllReduce ? 2.0 : 1.0);
}

Seconds Network::collective(CollectiveKind kind, Bytes size, DeviceGroup group) const {
  if (inside_ == nullptr || group.devices < 2) return Seconds(0);
  const auto bytes = static_cast<double>(size.count);
  const int nodes = (group.devices + group.per_node - 1) / group.per_node;
  if (nodes == 1) return ring(kind, bytes, group.devices, *exchange_);
  return ring(kind, bytes, group.per_node, *exchange_) +
         ring(kind, bytes / group.per_node, nodes, *between_);
}

Geometry::Geometry(const Layout& layout, int rank_count, int devices_per_node)
    : layout_(layout), rank_count_(rank_count), per_node_(std::max(1, devices_per_node)) {}

LinkScope Geometry::hop(int rank, int other) const {
  const int shared = layout_.sharding.device_count();
  const bool data_inside = layout_.order == DeviceOrder::kDataInside;
  const int rank_stride = shared * (data_inside ? layout_.data_parallel : 1);
  const int pipeline_stride = shared * (data_inside ? 1 : rank_count_);
  if (std::abs(rank - other) * rank_stride >= per_node_) return LinkScope::kBetween;
  // Where pipelines start in their nodes repeats after as many as a node has devices.
  const int pipelines = std::min(layout_.data_parallel, per_node_);
  for (int pipeline = 0; pipeline < pipelines; ++pipeline) {
    const int start = pipeline * pipeline_stride;
    if ((start + rank * rank_stride) / per_node_ != (start + other * rank_stride) / per_node_) {
      return LinkScope::kBetween;
    }
  }
  return LinkScope::kInside;
}

DeviceGroup Geometry::strided(int devices, int stride) const {
  return {devices, std::clamp(per_node_ / stride, 1, devices)};
}

DeviceGroup Geometry::group(CollectiveGroup kind) const {
  const Sharding& sharding = layout_.sharding;
  switch (kind) {
    case CollectiveGroup::kTensor:
      return strided(sharding.tensor, 1);
    case CollectiveGroup::kContext:
      return strided(sharding.context, sharding.tensor);
    case CollectiveGroup::kExpert:
      break;
  }
  return strided(sharding.expert, sharding.device_count());
}

DeviceGroup Geometry::replicas() const {
  const Sharding& sharding = layout_.sharding;
  const int devices = sharding.context * layout_.data_parallel;
  const bool data_inside = layout_.order == DeviceOrder::kDataInside;
  if (data_inside || layout_.data_parallel == 1) return strided(devices, sharding.tensor);
  return strided(devices, sharding.tensor * rank_count_);
}

}  // namespace ppplan::planner
