#include "planner/graph/pipedream.h"

#include "tests/support/errors.h"
#include "tests/support/random_graphs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ppplan::planner {
namespace {

using testing::RandomGraphOptions;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Tries every cut into consecutive stages, every grouping of them and every number of replicas.
class BruteForce {
 public:
  BruteForce(const GraphProfile& profile, const PipeDreamOptions& options)
      : nodes_(profile.nodes), options_(options), stage_of_(nodes_.size(), 0) {
    for (const PipeDreamLevel& level : options.levels) {
      most_stages_ *= static_cast<std::size_t>(level.units);
    }
    most_stages_ = std::min(most_stages_, nodes_.size());
  }

  double least_bottleneck() {
    assign(0);
    return best_;
  }

 private:
  struct Sums {
    double time = 0.0;
    double parameters = 0.0;
    double bytes = 0.0;
  };

  void assign(std::size_t node) {
    if (node == nodes_.size()) {
      evaluate();
      return;
    }
    for (std::size_t stage = 0; stage < most_stages_; ++stage) {
      stage_of_[node] = stage;
      assign(node + 1);
    }
  }

  void evaluate() {
    const std::size_t stage_count = *std::max_element(stage_of_.begin(), stage_of_.end()) + 1;
    std::vector<Sums> sums(stage_count);
    std::vector<double> over(stage_count + 1, 0.0);  // bytes over the boundary before a stage
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      std::size_t last = stage_of_[node];
      for (const int next : nodes_[node].next) {
        const std::size_t reader = stage_of_[static_cast<std::size_t>(next)];
        if (reader < stage_of_[node]) return;
        last = std::max(last, reader);
      }
      for (std::size_t stage = stage_of_[node] + 1; stage <= last; ++stage) {
        over[stage] += static_cast<double>(nodes_[node].output.count);
      }
      Sums& own = sums[stage_of_[node]];
      own.time += (nodes_[node].forward + nodes_[node].backward).count();
      own.parameters += static_cast<double>(nodes_[node].parameters.count);
      own.bytes += static_cast<double>((nodes_[node].parameters + nodes_[node].output).count);
    }
    for (const Sums& stage : sums) {
      if (stage.time == 0.0 && stage.bytes == 0.0) return;  // like the same with one stage less
    }
    best_ = std::min(best_, whole_pipeline(options_.levels.size() - 1, sums, over, 0, stage_count));
  }

  /// The best of stages [first, end) on some units of `level`; the others are idle.
  double whole_pipeline(std::size_t level, const std::vector<Sums>& sums,
                        const std::vector<double>& over, std::size_t first, std::size_t end) {
    double best = kNever;
    for (int idle = 0; idle < options_.levels[level].units; ++idle) {
      best = std::min(best, pipeline(level, sums, over, first, end, idle));
    }
    return best;
  }

  /// The best of stages [first, end) on all units of `level` that are left after `used`.
  double pipeline(std::size_t level, const std::vector<Sums>& sums, const std::vector<double>& over,
                  std::size_t first, std::size_t end, int used) {
    if (first == end) return used == options_.levels[level].units ? 0.0 : kNever;
    const PipeDreamLevel& here = options_.levels[level];
    double best = kNever;
    const std::size_t longest = level == 0 ? first + 1 : end;
    for (std::size_t to = first + 1; to <= longest; ++to) {
      Sums group;
      for (std::size_t stage = first; stage < to; ++stage) {
        group.time += sums[stage].time;
        group.parameters += sums[stage].parameters;
        group.bytes += sums[stage].bytes;
      }
      if (level == 1) {
        std::vector<double> inside = over;
        inside[first] = inside[to] = 0.0;
        group.time = whole_pipeline(0, sums, inside, first, to);
      }
      const int most = options_.replication == Replication::kAllowed ? here.units - used : 1;
      for (int replicas = 1; replicas <= most && used + replicas <= here.units; ++replicas) {
        const double share = level == 1 ? options_.levels[0].units : 1;
        const double reduction =
            4.0 * (replicas - 1) * group.parameters / (here.bandwidth.value * replicas * share);
        const double transfer =
            2.0 * std::max(over[first], over[to]) / (here.bandwidth.value * replicas);
        const double copies =
            std::ceil(static_cast<double>(here.units - used - replicas) / replicas);
        if (options_.memory && copies * group.bytes > static_cast<double>(options_.memory->count))
          continue;
        const double own = std::max((group.time + reduction) / replicas, transfer);
        best = std::min(best, std::max(own, pipeline(level, sums, over, to, end, used + replicas)));
      }
    }
    return best;
  }

  const std::vector<GraphNode>& nodes_;
  const PipeDreamOptions& options_;
  std::vector<std::size_t> stage_of_;
  std::size_t most_stages_ = 1;
  double best_ = kNever;
};

int compare(const RandomGraphOptions& graphs, const PipeDreamOptions& options, int rounds,
            unsigned seed) {
  std::mt19937 random(seed);
  int fitting = 0;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const GraphProfile profile = testing::random_pipedream_graph(random, graphs);
    const double expected = BruteForce(profile, options).least_bottleneck();
    const GraphAnswer answer = cut_pipedream(profile, options);
    CHECK(answer.exact);
    CHECK(answer.stages.empty() == std::isinf(expected));
    if (answer.stages.empty()) continue;
    ++fitting;
    CHECK(answer.bottleneck.count() == doctest::Approx(expected).epsilon(1e-12));
  }
  return fitting;
}

PipeDreamOptions devices(int count) {
  return {.levels = {{count, BytesPerSecond{100.0}}}};
}

}  // namespace

TEST_CASE("pipedream: equals brute force on random graphs") {
  CHECK(compare({.node_count = 6}, devices(4), 60, 1) == 60);
  CHECK(compare({.node_count = 6, .blocks = true}, devices(5), 40, 2) == 40);
  PipeDreamOptions straight = devices(4);
  straight.replication = Replication::kNone;
  CHECK(compare({.node_count = 6}, straight, 60, 3) == 60);
}

TEST_CASE("pipedream: equals brute force where memory binds") {
  PipeDreamOptions tight = devices(4);
  tight.memory = Bytes{600};
  CHECK(compare({.node_count = 6}, tight, 60, 4) > 0);
  tight.replication = Replication::kNone;
  CHECK(compare({.node_count = 6, .edge_probability = 0.1}, tight, 60, 8) > 0);
  PipeDreamOptions machines{.levels = {{2, BytesPerSecond{300.0}}, {3, BytesPerSecond{60.0}}}};
  machines.memory = Bytes{600};
  CHECK(compare({.node_count = 4}, machines, 60, 9) > 0);
}

TEST_CASE("pipedream: devices that stand idle are none that a stage keeps copies for") {
  GraphProfile profile{.nodes = std::vector<GraphNode>(2)};
  for (GraphNode& node : profile.nodes) {
    node.forward = Seconds(3.0);
    node.parameters = Bytes{100};
  }
  profile.nodes[0].next = {1};
  PipeDreamOptions straight = devices(16);
  straight.replication = Replication::kNone;
  straight.memory = Bytes{100};  // one copy on the first of two stages
  const GraphAnswer answer = cut_pipedream(profile, straight);
  REQUIRE(answer.stages.size() == 2);
  CHECK(answer.bottleneck == Seconds(3.0));
  CHECK(answer.stages[0].memory == Bytes{100});
  CHECK(answer.stages[1].memory == Bytes{0});
}

TEST_CASE("pipedream: equals brute force with machines of several devices") {
  const PipeDreamOptions machines{
      .levels = {{2, BytesPerSecond{300.0}}, {2, BytesPerSecond{60.0}}}};
  CHECK(compare({.node_count = 5}, machines, 60, 5) == 60);
  CHECK(compare({.node_count = 5, .edge_probability = 0.8}, machines, 60, 6) == 60);
}

TEST_CASE("pipedream: a heavy stage without parameters is replicated") {
  GraphProfile profile{.nodes = std::vector<GraphNode>(2)};
  profile.nodes[0].forward = Seconds(6.0);
  profile.nodes[1].forward = Seconds(2.0);
  profile.nodes[1].parameters = Bytes{1'000'000};
  profile.nodes[0].next = {1};
  const GraphAnswer answer = cut_pipedream(profile, {.levels = {{4, BytesPerSecond{1e3}}}});
  REQUIRE(answer.stages.size() == 2);
  CHECK(answer.stages[0].devices == 3);
  CHECK(answer.stages[1].devices == 1);
  CHECK(answer.bottleneck == Seconds(2.0));
}

TEST_CASE("pipedream: inputs and parts of tuples that nobody reads cost nothing") {
  GraphProfile profile{.nodes = std::vector<GraphNode>(4)};
  profile.nodes[0].description = "Input0";
  profile.nodes[0].forward = Seconds(100.0);
  profile.nodes[0].output = Bytes{1'000'000};
  profile.nodes[0].next = {1, 2};
  profile.nodes[1].next = {2, 3};
  profile.nodes[1].forward = profile.nodes[2].forward = Seconds(1.0);
  profile.nodes[3].description = "__getitem__(1)";
  profile.nodes[3].forward = Seconds(50.0);
  const GraphAnswer answer = cut_pipedream(profile, {.levels = {{2, BytesPerSecond{1.0}}}});
  CHECK(answer.bottleneck == Seconds(1.0));
  std::size_t node_count = 0;
  for (const GraphStage& stage : answer.stages) node_count += stage.nodes.size();
  CHECK(node_count == 4);
}

TEST_CASE("pipedream: a graph of another kind is refused") {
  GraphProfile profile{.nodes = std::vector<GraphNode>(1)};
  profile.nodes[0].name = "7";
  profile.nodes[0].transfer = Seconds(0);
  CHECK(
      test::message_of([&] { (void)cut_pipedream(profile, devices(2)); }) ==
      "node 7: the rules of pipedream need both passes and the bytes of outputs and parameters in "
      "one node");
  profile.nodes[0] = {.description = "Input"};
  CHECK(test::message_of([&] { (void)cut_pipedream(profile, devices(2)); }) ==
        "the graph holds nothing but inputs");
}

TEST_CASE("pipedream: what was found before the work became too much is the answer") {
  std::mt19937 random(9);
  const GraphProfile profile =
      testing::random_pipedream_graph(random, {.node_count = 12, .edge_probability = 0.05});
  PipeDreamOptions machines{.levels = {{3, BytesPerSecond{300.0}}, {3, BytesPerSecond{60.0}}}};
  const GraphAnswer best = cut_pipedream(profile, machines);
  CHECK(best.exact);
  int cut_short = 0;
  for (std::int64_t work = 1'000; work < 20'000'000; work += work / 4) {
    machines.limits.work = work;
    const GraphAnswer answer = cut_pipedream(profile, machines);
    CAPTURE(work);
    cut_short += answer.exact ? 0 : 1;
    if (answer.stages.empty()) continue;
    CHECK(answer.bottleneck.count() >= best.bottleneck.count() * (1.0 - 1e-12));
    CHECK(answer.lower_bound.count() <= best.bottleneck.count() * (1.0 + 1e-12));
    std::size_t node_count = 0;
    for (const GraphStage& stage : answer.stages) node_count += stage.nodes.size();
    CHECK(node_count == 12);
  }
  CHECK(cut_short > 0);
}

TEST_CASE("pipedream: a chain too long for its machines is answered coarsely") {
  GraphProfile profile{.nodes = std::vector<GraphNode>(20'000)};
  for (std::size_t node = 0; node < profile.nodes.size(); ++node) {
    profile.nodes[node].forward = Seconds(1.0);
    if (node + 1 < profile.nodes.size()) profile.nodes[node].next = {static_cast<int>(node) + 1};
  }
  PipeDreamOptions machines{.levels = {{8, BytesPerSecond{1e9}}, {8, BytesPerSecond{1e9}}}};
  machines.replication = Replication::kNone;
  machines.limits.work = 20'000'000;
  const GraphAnswer answer = cut_pipedream(profile, machines);
  REQUIRE(!answer.stages.empty());
  CHECK(answer.lower_bound <= answer.bottleneck);
}

TEST_CASE("pipedream: thousands of devices and nodes are answered") {
  std::mt19937 random(7);
  const GraphProfile profile =
      testing::random_pipedream_graph(random, {.node_count = 150, .edge_probability = 0.03});
  const GraphAnswer answer = cut_pipedream(profile, devices(1'024));
  CHECK(!answer.stages.empty());
  CHECK(answer.lower_bound <= answer.bottleneck);
}

}  // namespace ppplan::planner
