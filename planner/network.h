// What traffic between devices costs: one hop, and the collectives of a group, inside a node or
// across nodes.
#pragma once

#include "reports/documents/plan.h"
#include "reports/documents/profile.h"

#include <algorithm>

namespace ppplan::planner {

/// Devices that take part in a collective, in nodes of `per_node` each, the last with what is left.
struct DeviceGroup {
  int devices = 1;
  int per_node = 1;  ///< of them; from 1 to `devices`
  [[nodiscard]] int node_count() const { return (devices + per_node - 1) / per_node; }
  bool operator==(const DeviceGroup&) const = default;
};

/// The links of a profile. `inside` is its first link of that scope, `between` likewise (the inside
/// one where none is given); collectives inside a node use the link called "exchange" where it was
/// measured. Bandwidths are a device's own: devices of a node do not share one.
class Network {
 public:
  /// `profile` must outlive this. Without links everything is free.
  explicit Network(const Profile& profile);

  /// A tensor from one device to another.
  [[nodiscard]] Seconds hop(LinkScope scope, Bytes size) const;
  /// The same on the faster of the two kinds of links.
  [[nodiscard]] Seconds least_hop(Bytes size) const {
    return std::min(hop(LinkScope::kInside, size), hop(LinkScope::kBetween, size));
  }
  /// Whether links between nodes were given apart from those inside.
  [[nodiscard]] bool has_nodes() const { return between_ != inside_; }
  /// Of two devices of a node that send each other a tensor at once.
  [[nodiscard]] Seconds exchange(Bytes size) const;

  /// Ring algorithms (Thakur, Rabenseifner, Gropp 2005, section 4): with n devices, latency a and
  /// time a byte b, all-gather and reduce-scatter of a tensor of S bytes take (n - 1)(a + S b / n),
  /// all-reduce twice as long, all-to-all of S bytes a device (n - 1)(a + S b / n). Across nodes
  /// in three steps: scatter inside the nodes, between them each device with its share, gather
  /// inside. An all-to-all has no shares: what goes to other nodes goes there whole.
  [[nodiscard]] Seconds collective(CollectiveKind kind, Bytes size, DeviceGroup group) const;

 private:
  [[nodiscard]] Seconds ring(CollectiveKind kind, double bytes, int devices,
                             const Link& link) const;

  const Link* inside_ = nullptr;
  const Link* between_ = nullptr;
  const Link* exchange_ = nullptr;
};

/// Where the groups of a layout stand, in nodes of `devices_per_node`: devices that share a layer
/// side by side, the first at a multiple of their number. Of groups that lie differently in their
/// nodes the one counts that touches most nodes: all wait for it.
class Geometry {
 public:
  Geometry(const Layout& layout, int rank_count, int devices_per_node);

  /// Of a hop between two pipeline ranks: between nodes when any of the pipelines crosses.
  [[nodiscard]] LinkScope hop(int rank, int other) const;
  /// Precondition: devices that share a layer do not straddle the end of a node (see whole_nodes).
  [[nodiscard]] DeviceGroup group(CollectiveGroup kind) const;
  /// The devices that hold the same parameters and add their gradients. Precondition: as group.
  [[nodiscard]] DeviceGroup replicas() const;
  /// Whether devices that share a layer fill nodes or parts of nodes without straddling one's end.
  [[nodiscard]] bool whole_nodes() const;

 private:
  [[nodiscard]] DeviceGroup strided(int devices, int stride) const;

  Layout layout_;
  int rank_count_;
  int per_node_;
};

}  // namespace ppplan::planner
