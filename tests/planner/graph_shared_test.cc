// Graphs of PipeDream and dnn-partitioning, kept outside the project: their exact optima, and what
// PipeDream's own optimizer answers.
#include "planner/graph/max_load.h"
#include "planner/graph/pipedream.h"
#include "profiler/import/import.h"
#include "reports/documents/file.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace ppplan::planner {
namespace {

const std::filesystem::path kGraphs = std::filesystem::path(PPPLAN_SHARED_ROOT) / "data/graphs";

bool have_graphs() {
  if (std::filesystem::exists(kGraphs)) return true;
  MESSAGE("skipped: ", kGraphs.string(), " is not there");
  return false;
}

GraphProfile load(const std::string& name) {
  return profiler::import_graph(read_file(kGraphs / name), name).profile;
}

GraphAnswer max_load(const GraphProfile& profile) {
  return cut_max_load(profile, {.accelerators = profile.machine->accelerators,
                                .cpus = profile.machine->cpus,
                                .memory = profile.machine->memory});
}

struct Published {
  std::string graph;
  PipeDreamOptions options;
  double bottleneck_s;
};

}  // namespace

TEST_SUITE_BEGIN("shared");

TEST_CASE("max-load: equals the exact contiguous optima of published graphs") {
  if (!have_graphs()) return;
  struct Optimum {
    std::string graph;
    double milliseconds;
  };
  for (const auto& [graph, milliseconds] : std::vector<Optimum>{
           {"layer_bert24_inference", 17.789906},
           {"layer_bert24_training", 41.745812},
           {"layer_gnmt_inference", 32.910658},
           {"layer_resnet50_training", 78.631813},
           {"operator_bert_l-3_inference", 27.918568},
           {"operator_bert_l-3_training", 65.303149},
       }) {
    CAPTURE(graph);
    const GraphAnswer answer = max_load(load("dnn-partitioning/" + graph + ".json"));
    CHECK(answer.exact);
    CHECK(std::abs(1e3 * answer.bottleneck.count() - milliseconds) < 1e-6);
  }
}

TEST_CASE("max-load: the lattice of gnmt has its known size") {
  if (!have_graphs()) return;
  CHECK(max_load(load("dnn-partitioning/layer_gnmt_inference.json")).ideal_count == 17'914);
}

TEST_CASE("pipedream: no worse than PipeDream's optimizer on its own graphs") {
  if (!have_graphs()) return;
  const auto flat = [](int count) {
    return PipeDreamOptions{.levels = {{count, BytesPerSecond{1e9}}}};
  };
  const PipeDreamOptions straight{.levels = {{4, BytesPerSecond{1e9}}},
                                  .replication = Replication::kNone};
  const PipeDreamOptions machines{
      .levels = {{4, BytesPerSecond{1.2e10}}, {4, BytesPerSecond{1.25e9}}}};
  for (const auto& [graph, options, bottleneck_s] : std::vector<Published>{
           {"vgg16", flat(4), 0.205521},
           {"resnet50", flat(4), 0.162881},
           {"alexnet", flat(4), 0.0342171},
           {"gnmt", flat(4), 0.0258680},
           {"densenet121", flat(4), 0.0899760},
           {"vgg16", flat(16), 0.0565298},
           {"vgg16", straight, 0.411042},
           {"vgg16", machines, 0.0668888},
           {"resnet50", machines, 0.0432085},
       }) {
    CAPTURE(graph);
    const GraphAnswer answer = cut_pipedream(load("pipedream/" + graph + ".txt"), options);
    CHECK(answer.exact);
    CHECK(answer.bottleneck.count() < bottleneck_s * (1.0 + 3e-6));  // printed to six digits
  }
}

TEST_SUITE_END();

}  // namespace ppplan::planner
