#include "planner/network.h"

#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

namespace ppplan::planner {
namespace {

/// 10 us and 1 GB/s inside a node, 50 us and 0.2 GB/s between nodes.
Profile two_links() {
  return testing::synthetic_profile(
      std::vector<testing::SyntheticLayer>(2),
      {.latency_s = 1e-5, .bytes_per_s = 1e9, .between_slowdown = 5.0});
}

/// Device of the cluster, counted by hand: layers' devices side by side, then by order.
int place(const Layout& layout, int rank_count, int pipeline, int rank, int device) {
  const int unit = layout.order == DeviceOrder::kDataInside ? rank * layout.data_parallel + pipeline
                                                            : pipeline * rank_count + rank;
  return unit * layout.sharding.device_count() + device;
}

}  // namespace

TEST_CASE("network: a hop takes latency and bytes over the link of its scope") {
  const Network network(two_links());
  CHECK(network.hop(LinkScope::kInside, Bytes{1'000'000}).count() == doctest::Approx(1.01e-3));
  CHECK(network.hop(LinkScope::kBetween, Bytes{1'000'000}).count() == doctest::Approx(5.05e-3));
  CHECK(network.least_hop(Bytes{1'000'000}).count() == doctest::Approx(1.01e-3));
}

TEST_CASE("network: collectives inside a node are rings") {
  const Network network(two_links());
  const DeviceGroup four{4, 4};
  const auto time = [&](CollectiveKind kind) {
    return network.collective(kind, Bytes{4'000'000}, four).count();
  };
  // 3 rounds of 10 us and 1 MB at 1 GB/s.
  CHECK(time(CollectiveKind::kAllGather) == doctest::Approx(3 * 1.01e-3));
  CHECK(time(CollectiveKind::kReduceScatter) == doctest::Approx(3 * 1.01e-3));
  CHECK(time(CollectiveKind::kAllToAll) == doctest::Approx(3 * 1.01e-3));
  CHECK(time(CollectiveKind::kAllReduce) == doctest::Approx(6 * 1.01e-3));
  CHECK(network.collective(CollectiveKind::kAllReduce, Bytes{1}, {1, 1}) == Seconds(0));
}

TEST_CASE("network: across nodes a collective goes inside them and between each device's shares") {
  const Network network(two_links());
  const DeviceGroup eight{8, 4};  // two nodes
  const auto time = [&](CollectiveKind kind) {
    return network.collective(kind, Bytes{8'000'000}, eight).count();
  };
  // Inside 3 rounds of 2 MB; between one round of a half of the device's 2 MB.
  const double inside_s = 3 * (1e-5 + 2e-3);
  const double between_s = 5e-5 + 1e6 / 2e8;
  CHECK(time(CollectiveKind::kAllGather) == doctest::Approx(inside_s + between_s));
  CHECK(time(CollectiveKind::kReduceScatter) == doctest::Approx(inside_s + between_s));
  CHECK(time(CollectiveKind::kAllReduce) == doctest::Approx(2 * (inside_s + between_s)));
  // Half of each device's 8 MB goes to the other node.
  CHECK(time(CollectiveKind::kAllToAll) == doctest::Approx(inside_s + 5e-5 + 4e6 / 2e8));
  // One device a node: a ring between nodes alone.
  CHECK(network.collective(CollectiveKind::kAllGather, Bytes{8'000'000}, {2, 1}).count() ==
        doctest::Approx(5e-5 + 4e6 / 2e8));
}

TEST_CASE("network: a link called exchange prices what both sides send at once") {
  Profile profile = two_links();
  Link exchange = profile.links.front();
  exchange.name = "exchange";
  exchange.bandwidth = BytesPerSecond{5e8};
  profile.links.insert(profile.links.begin(), exchange);
  const Network network(profile);
  CHECK(network.hop(LinkScope::kInside, Bytes{1'000'000}).count() == doctest::Approx(1.01e-3));
  CHECK(network.exchange(Bytes{1'000'000}).count() == doctest::Approx(2.01e-3));
  CHECK(network.collective(CollectiveKind::kAllGather, Bytes{2'000'000}, {2, 2}).count() ==
        doctest::Approx(2.01e-3));
}

TEST_CASE("geometry: hops and replicas are those of every device's place") {
  for (const DeviceOrder order : {DeviceOrder::kDataInside, DeviceOrder::kPipelineInside}) {
    for (const int tensor : {1, 2, 3, 4, 8}) {
      for (const int pipelines : {1, 2, 3, 4, 6, 16}) {
        for (const int ranks : {1, 2, 3, 5, 8}) {
          for (const int per_node : {1, 2, 4, 6, 8, 1000}) {
            const Layout layout{
                .sharding = {.tensor = tensor}, .data_parallel = pipelines, .order = order};
            const Geometry geometry(layout, ranks, per_node);
            const auto node = [&](int pipeline, int rank, int device) {
              return place(layout, ranks, pipeline, rank, device) / per_node;
            };
            CAPTURE(tensor);
            CAPTURE(pipelines);
            CAPTURE(ranks);
            CAPTURE(per_node);
            for (int rank = 0; rank < ranks; ++rank) {
              for (int other = 0; other < ranks; ++other) {
                bool between = false;
                for (int pipeline = 0; pipeline < pipelines; ++pipeline) {
                  for (int device = 0; device < tensor; ++device) {
                    between |= node(pipeline, rank, device) != node(pipeline, other, device);
                  }
                }
                if (between != (geometry.hop(rank, other) == LinkScope::kBetween)) {
                  FAIL("hop ", rank, " to ", other);
                }
              }
            }
            if (!geometry.whole_nodes()) continue;
            std::size_t most = 1;
            for (int rank = 0; rank < ranks; ++rank) {
              std::set<int> touched;
              for (int pipeline = 0; pipeline < pipelines; ++pipeline) {
                touched.insert(node(pipeline, rank, 0));
              }
              most = std::max(most, touched.size());
            }
            const auto nodes = static_cast<int>(most);
            CHECK(geometry.replicas() == DeviceGroup{pipelines, (pipelines + nodes - 1) / nodes});
          }
        }
      }
    }
  }
}

TEST_CASE("geometry: devices that share a layer stand together, context beside tensor") {
  const Layout layout{.sharding = {.tensor = 4, .context = 4}, .data_parallel = 2};
  const Geometry geometry(layout, 2, 8);
  CHECK(geometry.group(CollectiveGroup::kTensor) == DeviceGroup{4, 4});
  CHECK(geometry.group(CollectiveGroup::kContext) == DeviceGroup{4, 2});
  CHECK(geometry.replicas() == DeviceGroup{8, 2});
  CHECK(geometry.whole_nodes());
  CHECK_FALSE(Geometry({.sharding = {.tensor = 3}}, 4, 8).whole_nodes());
  CHECK(Geometry({.sharding = {.tensor = 3}}, 2, 8).whole_nodes());
}

}  // namespace ppplan::planner
