#include "planner/graph/max_load.h"

#include "tests/support/errors.h"
#include "tests/support/random_graphs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace ppplan::planner {
namespace {

using testing::RandomGraphOptions;

/// Tries every assignment of nodes to a sequence of devices, and every order of the devices.
class BruteForce {
 public:
  BruteForce(const GraphProfile& profile, const MaxLoadOptions& options)
      : nodes_(profile.nodes), options_(options), stage_of_(nodes_.size(), 0) {}

  /// Infinite when nothing fits.
  double least_max_load() {
    std::vector<bool> on_cpu(static_cast<std::size_t>(options_.accelerators), false);
    on_cpu.insert(on_cpu.end(), static_cast<std::size_t>(options_.cpus), true);
    do {
      on_cpu_ = on_cpu;
      assign(0);
    } while (std::next_permutation(on_cpu.begin(), on_cpu.end()));
    return best_;
  }

 private:
  void assign(std::size_t node) {
    if (node == nodes_.size()) {
      if (allowed()) best_ = std::min(best_, max_load());
      return;
    }
    for (std::size_t stage = 0; stage < on_cpu_.size(); ++stage) {
      stage_of_[node] = stage;
      if (together(node)) assign(node + 1);
    }
  }

  [[nodiscard]] bool together(std::size_t node) const {
    for (std::size_t other = 0; other < node; ++other) {
      const bool same =
          nodes_[node].color_class && nodes_[node].color_class == nodes_[other].color_class;
      if (same && stage_of_[node] != stage_of_[other]) return false;
    }
    return true;
  }

  [[nodiscard]] bool has_forward_partner(std::size_t node) const {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const GraphNode& other) {
      return !other.backward_pass && other.color_class &&
             other.color_class == nodes_[node].color_class;
    });
  }

  [[nodiscard]] bool allowed() const {
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      for (const int reader : nodes_[node].next) {
        const auto next = static_cast<std::size_t>(reader);
        if (!nodes_[next].backward_pass) {
          if (stage_of_[node] > stage_of_[next]) return false;
        } else if (nodes_[node].backward_pass &&
                   !(has_forward_partner(node) && has_forward_partner(next))) {
          if (stage_of_[node] < stage_of_[next]) return false;
        }
      }
    }
    return true;
  }

  [[nodiscard]] double max_load() const {
    double worst = 0.0;
    for (std::size_t stage = 0; stage < on_cpu_.size(); ++stage) {
      double load = 0.0;
      std::int64_t bytes = 0;
      for (std::size_t node = 0; node < nodes_.size(); ++node) {
        const GraphNode& costs = nodes_[node];
        const bool here = stage_of_[node] == stage;
        const auto read_in = [&](bool inside) {
          return std::any_of(costs.next.begin(), costs.next.end(), [&](int reader) {
            return (stage_of_[static_cast<std::size_t>(reader)] == stage) == inside;
          });
        };
        if (here && on_cpu_[stage]) load += costs.cpu->count();
        if (here && !on_cpu_[stage]) {
          if (!costs.accelerator) return std::numeric_limits<double>::infinity();
          load += (costs.forward + costs.backward).count();
          bytes += costs.memory.count;
        }
        if (!on_cpu_[stage] && read_in(!here)) load += costs.transfer->count();
      }
      if (options_.memory && bytes > options_.memory->count) {
        return std::numeric_limits<double>::infinity();
      }
      worst = std::max(worst, load);
    }
    return worst;
  }

  const std::vector<GraphNode>& nodes_;
  const MaxLoadOptions& options_;
  std::vector<std::size_t> stage_of_;
  std::vector<bool> on_cpu_;
  double best_ = std::numeric_limits<double>::infinity();
};

/// Compares on random graphs; returns how many had a cut that fits.
int compare(const RandomGraphOptions& graphs, const MaxLoadOptions& options, int rounds,
            unsigned seed) {
  std::mt19937 random(seed);
  int fitting = 0;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const GraphProfile profile = testing::random_max_load_graph(random, graphs);
    const double expected = BruteForce(profile, options).least_max_load();
    const GraphAnswer answer = cut_max_load(profile, options);
    CHECK(answer.exact);
    if (std::isinf(expected)) {
      CHECK(answer.stages.empty());
      CHECK(!answer.why_none.empty());
      continue;
    }
    ++fitting;
    REQUIRE(!answer.stages.empty());
    CHECK(answer.bottleneck.count() == doctest::Approx(expected).epsilon(1e-12));
    CHECK(answer.lower_bound == answer.bottleneck);
  }
  return fitting;
}

}  // namespace

TEST_CASE("max-load: equals brute force on random graphs") {
  const MaxLoadOptions three{.accelerators = 3};
  const MaxLoadOptions with_cpu{.accelerators = 2, .cpus = 1};
  CHECK(compare({.node_count = 7}, three, 60, 1) > 0);
  CHECK(compare({.node_count = 7, .edge_probability = 0.15}, with_cpu, 60, 2) == 60);
  CHECK(compare({.node_count = 7, .blocks = true}, three, 60, 3) > 0);
  CHECK(compare({.node_count = 7, .edge_probability = 0.5, .blocks = true}, with_cpu, 60, 4) == 60);
}

TEST_CASE("max-load: equals brute force where memory binds") {
  const MaxLoadOptions tight{.accelerators = 3, .memory = Bytes{16}};
  const MaxLoadOptions with_cpu{.accelerators = 2, .cpus = 1, .memory = Bytes{12}};
  CHECK(compare({.node_count = 7}, tight, 60, 5) > 0);
  CHECK(compare({.node_count = 7, .blocks = true}, tight, 60, 6) > 0);
  CHECK(compare({.node_count = 7, .blocks = true}, with_cpu, 60, 7) > 0);
}

TEST_CASE("max-load: equals brute force with a backward pass and colour classes") {
  const MaxLoadOptions two{.accelerators = 2, .cpus = 1};
  CHECK(compare({.node_count = 4, .backward_probability = 0.8}, two, 60, 8) == 60);
  CHECK(compare({.node_count = 6, .color_probability = 0.4}, two, 60, 9) == 60);
  CHECK(compare({.node_count = 4, .backward_probability = 0.6, .color_probability = 0.3}, two, 60,
                10) == 60);
}

TEST_CASE("max-load: equals brute force with CPUs alone") {
  CHECK(compare({.node_count = 7, .edge_probability = 0.1}, {.accelerators = 0, .cpus = 2}, 120,
                12) == 120);
  CHECK(compare({.node_count = 6, .edge_probability = 0.1}, {.accelerators = 0, .cpus = 3}, 60,
                13) == 60);
}

TEST_CASE("max-load: a heavy node stands alone and binds") {
  GraphProfile profile{.nodes = std::vector<GraphNode>(3)};
  for (std::size_t node = 0; node < 3; ++node) {
    profile.nodes[node].name = std::to_string(node);
    profile.nodes[node].forward = Seconds(node == 1 ? 5.0 : 1.0);
    profile.nodes[node].transfer = Seconds(0.25);
    if (node < 2) profile.nodes[node].next = {static_cast<int>(node) + 1};
  }
  const GraphAnswer answer = cut_max_load(profile, {.accelerators = 3});
  REQUIRE(answer.stages.size() == 3);
  CHECK(answer.bottleneck == Seconds(5.5));
  CHECK(answer.stages[1].nodes == std::vector<int>{1});
  CHECK(answer.stages[1].receive == Seconds(0.25));
  CHECK(answer.stages[1].send == Seconds(0.25));
  CHECK(answer.stages[2].load == Seconds(1.25));
}

TEST_CASE("max-load: nodes that take no time hide no cut with a CPU") {
  struct Row {
    double cpu, accelerator, transfer;
    int bytes;
    std::vector<int> next;
  };
  const std::vector<Row> rows = {{2.8, 1.5, 5.0, 19, {3, 5}}, {0.0, 0.0, 0.0, 1, {5}},
                                 {4.7, 4.3, 0.0, 5, {}},      {8.1, 0.0, 0.2, 12, {1, 2}},
                                 {0.0, 0.0, 0.0, 20, {}},     {3.8, 1.6, 0.0, 6, {}}};
  GraphProfile profile;
  for (const Row& row : rows) {
    profile.nodes.push_back({.accelerator = profile.nodes.size() != 1,
                             .forward = Seconds(row.accelerator),
                             .cpu = Seconds(row.cpu),
                             .transfer = Seconds(row.transfer),
                             .memory = Bytes{row.bytes},
                             .next = row.next});
  }
  const GraphAnswer answer =
      cut_max_load(profile, {.accelerators = 1, .cpus = 1, .memory = Bytes{45}});
  REQUIRE(answer.stages.size() == 2);
  CHECK(answer.stages[0].nodes == std::vector<int>{0, 3});
  CHECK(answer.bottleneck.count() == doctest::Approx(4.7 + 3.8));
}

TEST_CASE("max-load: what no device can take is named") {
  GraphProfile profile{.nodes = std::vector<GraphNode>(1)};
  profile.nodes[0].name = "conv";
  profile.nodes[0].transfer = Seconds(0);
  profile.nodes[0].memory = Bytes{100};
  const GraphAnswer answer = cut_max_load(profile, {.accelerators = 2, .memory = Bytes{10}});
  CHECK(answer.stages.empty());
  CHECK(answer.why_none == "no device can take node conv: it needs 100 B, an accelerator has 10 B");
  CHECK(cut_max_load(profile, {.accelerators = 0}).why_none ==
        "no device can take node conv: there is no accelerator, and no CPU can run it");
  profile.nodes[0].accelerator = false;
  CHECK(cut_max_load(profile, {.accelerators = 2}).why_none ==
        "no device can take node conv: an accelerator cannot run it, and no CPU is there");
  profile.nodes.resize(2);
  profile.nodes[0].color_class = profile.nodes[1].color_class = 7;
  profile.nodes[1].transfer = Seconds(0);
  CHECK(cut_max_load(profile, {.accelerators = 2}).why_none ==
        "no device can take node conv with the 1 that must be beside it: an accelerator cannot run "
        "it, and no CPU is there");
}

TEST_CASE("max-load: a graph that states bytes needs a bandwidth") {
  GraphProfile profile{.nodes = std::vector<GraphNode>(2)};
  profile.nodes[0].name = "a";
  profile.nodes[0].next = {1};
  profile.nodes[0].output = Bytes{1000};
  profile.nodes[0].forward = profile.nodes[1].forward = Seconds(4.0);
  CHECK(test::message_of([&] { (void)cut_max_load(profile, {.accelerators = 2}); }) ==
        "node a: the graph states the bytes of transfers, not their time");
  CHECK(cut_max_load(profile, {.accelerators = 2, .bandwidth = BytesPerSecond{1000}}).bottleneck ==
        Seconds(5.0));
}

TEST_CASE("max-load: too many ideals are cut as a chain, and the gap is stated") {
  std::mt19937 random(11);
  GraphProfile profile{.nodes = std::vector<GraphNode>(60)};
  for (std::size_t node = 0; node < 60; ++node) {
    profile.nodes[node].name = std::to_string(node);
    profile.nodes[node].forward = Seconds(std::uniform_real_distribution(0.5, 1.5)(random));
    profile.nodes[node].transfer = Seconds(0);
  }
  const GraphAnswer answer = cut_max_load(profile, {.accelerators = 4});
  CHECK(!answer.exact);
  CHECK(answer.ideal_count == 0);
  CHECK(answer.lower_bound > Seconds(0));
  CHECK(answer.lower_bound <= answer.bottleneck);
  CHECK(answer.bottleneck / answer.lower_bound < 1.1);
  std::set<int> placed;
  for (const GraphStage& stage : answer.stages)
    placed.insert(stage.nodes.begin(), stage.nodes.end());
  CHECK(placed.size() == 60);
}

TEST_CASE("max-load: as many devices as there may be, and a graph as large as one may be") {
  GraphProfile profile{.nodes = std::vector<GraphNode>(1'000)};
  for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
    profile.nodes[node].forward = Seconds(1.0);
    profile.nodes[node].transfer = Seconds(0.5);
    if (node + 1 < profile.nodes.size()) profile.nodes[node].next = {static_cast<int>(node) + 1};
  }
  const GraphAnswer answer = cut_max_load(profile, {.accelerators = 65'536});
  CHECK(!answer.stages.empty());
  CHECK(answer.lower_bound <= answer.bottleneck);
}

TEST_CASE(
    "max-load: more devices than are counted one by one, on chains, equal a plain programme") {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> amount(0.1, 1.0);
  constexpr std::size_t kNodes = 150;
  for (const double transfer_scale : {0.0, 0.05, 1.0}) {
    GraphProfile profile{.nodes = std::vector<GraphNode>(kNodes)};
    for (std::size_t node = 0; node < kNodes; ++node) {
      profile.nodes[node].forward = Seconds(amount(random));
      profile.nodes[node].transfer = Seconds(transfer_scale * amount(random));
      if (node + 1 < kNodes) profile.nodes[node].next = {static_cast<int>(node) + 1};
    }
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::vector<double> best(kNodes + 1, kNever);  // of the first nodes, on ever more devices
    best[0] = 0.0;
    for (int devices = 1; devices <= 120; ++devices) {
      for (std::size_t end = kNodes; end > 0; --end) {
        double load = end < kNodes ? profile.nodes[end - 1].transfer->count() : 0.0;
        for (std::size_t first = end; first-- > 0;) {
          load += profile.nodes[first].forward.count();
          const double received = first > 0 ? profile.nodes[first - 1].transfer->count() : 0.0;
          best[end] = std::min(best[end], std::max(best[first], load + received));
        }
      }
      if (devices != 65 && devices != 120) continue;
      const GraphAnswer answer = cut_max_load(profile, {.accelerators = devices});
      CAPTURE(devices);
      CAPTURE(transfer_scale);
      CHECK(answer.exact);
      CHECK(answer.bottleneck.count() == doctest::Approx(best[kNodes]).epsilon(1e-12));
      CHECK(answer.lower_bound.count() == doctest::Approx(best[kNodes]).epsilon(1e-12));
    }
  }
}

}  // namespace ppplan::planner
