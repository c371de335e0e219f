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
  const int nodes = group.node_count();
  if (nodes == 1) return ring(kind, bytes, group.devices, *exchange_);
  const double share = kind == CollectiveKind::kAllToAll ? bytes : bytes / group.per_node;
  return ring(kind, bytes, group.per_node, *exchange_) + ring(kind, share, nodes, *between_);
}

Geometry::Geometry(const Layout& layout, int rank_count, int devices_per_node)
    : layout_(layout), rank_count_(rank_count), per_node_(std::max(1, devices_per_node)) {}

bool Geometry::whole_nodes() const {
  const int shared = layout_.sharding.device_count();
  const int used = layout_.device_count() * rank_count_;
  return used <= per_node_ || shared % per_node_ == 0 || per_node_ % shared == 0;
}

LinkScope Geometry::hop(int rank, int other) const {
  const int shared = layout_.sharding.device_count();
  const bool data_inside = layout_.order == DeviceOrder::kDataInside;
  const int rank_stride = shared * (data_inside ? layout_.data_parallel : 1);
  const int pipeline_stride = shared * (data_inside ? 1 : rank_count_);
  if (std::abs(rank - other) * rank_stride >= per_node_) return LinkScope::kBetween;
  // Where pipelines start in their nodes repeats after as many as a node has devices.
  const int pipelines = std::min(layout_.data_parallel, per_node_);
  for (int pipeline = 0; pipeline < pipelines; ++pipeline) {
    for (int device = 0; device < std::min(shared, per_node_); ++device) {
      const int start = pipeline * pipeline_stride + device;
      if ((start + rank * rank_stride) / per_node_ != (start + other * rank_stride) / per_node_) {
        return LinkScope::kBetween;
      }
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
  const int shared = sharding.device_count();
  const int pipelines = layout_.data_parallel;
  const int devices = sharding.context * pipelines;
  const bool data_inside = layout_.order == DeviceOrder::kDataInside;
  // From pipeline to pipeline, from rank to rank, and from the first device to the last.
  const int stride = shared * (data_inside ? 1 : rank_count_);
  const int rank_stride = shared * (data_inside ? pipelines : 1);
  const int context_span = (sharding.context - 1) * sharding.tensor;
  int most = 1;
  for (int rank = 0; rank < std::min(rank_count_, per_node_); ++rank) {
    const int start = rank * rank_stride;
    const auto nodes = [&](int span) { return (start + span) / per_node_ - start / per_node_ + 1; };
    most = std::max(most, stride <= per_node_ ? nodes((pipelines - 1) * stride + context_span)
                                              : pipelines * nodes(context_span));
  }
  const int touched = std::min(most, devices);
  return {devices, (devices + touched - 1) / touched};
}

}  // namespace ppplan::planner
