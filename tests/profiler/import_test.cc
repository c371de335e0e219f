#include "profiler/import/import.h"

#include "tests/support/errors.h"

#include <doctest/doctest.h>

#include <string>

namespace ppplan::profiler {
namespace {

using test::hint_of;
using test::message_of;

const std::string kLine =
    "node2 -- Linear(in_features=4, out_features=2) -- forward_compute_time=2.500, "
    "backward_compute_time=5.000, activation_size=[100.0; 20.0], parameter_size=32.000";

std::string node_line(const std::string& id) {
  return id + kLine.substr(5) + "\n";
}

std::string json(const std::string& nodes, const std::string& edges) {
  return R"({"maxSizePerFPGA": 1000, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [)" + nodes +
         R"(], "edges": [)" + edges + "]}";
}

std::string json_node(const std::string& id, const std::string& more = "") {
  return R"({"id": )" + id +
         R"(, "supportedOnFpga": 1, "cpuLatency": 30, "fpgaLatency": 3, "isBackwardNode": false)" +
         more + "}";
}

std::string read_error(const std::string& text) {
  return message_of([&] { (void)import_graph(text, "g"); });
}

}  // namespace

TEST_CASE("import: a line of graph.txt becomes a node, milliseconds become seconds") {
  const ImportedGraph graph =
      import_graph(node_line("a") + kLine + " -- stage_id=3\r\n\ta -- node2\n", "graph.txt");
  REQUIRE(graph.profile.nodes.size() == 2);
  CHECK(graph.profile.origin == Origin::kImported);
  CHECK(graph.profile.source == "pipedream");
  const GraphNode& node = graph.profile.nodes[1];
  CHECK(node.name == "node2");
  CHECK(node.description == "Linear(in_features=4, out_features=2)");
  CHECK(node.forward == Seconds(0.0025));
  CHECK(node.backward == Seconds(0.005));
  CHECK(node.output == Bytes{120});
  CHECK(node.parameters == Bytes{32});
  CHECK(graph.profile.nodes[0].next == std::vector<int>{1});
  CHECK(graph.notes.empty());
}

TEST_CASE("import: edges may stand before their nodes and more than once") {
  const ImportedGraph graph =
      import_graph("\tb -- a\n\tb -- a\n" + node_line("a") + node_line("b"), "g");
  CHECK(graph.profile.nodes[1].next == std::vector<int>{0});
  REQUIRE(graph.notes.size() == 1);
  CHECK(graph.notes[0].find("1 edges stand more than once") != std::string::npos);
}

TEST_CASE("import: JSON of dnn-partitioning is recognized by its content") {
  const ImportedGraph graph = import_graph(
      json(
          json_node("7", R"(, "size": 2.5e2, "colorClass": 4, "name": "conv", "layerId": 9)") +
              "," + json_node("8"),
          R"({"sourceId": 7, "destId": 8, "cost": 1.5}, {"sourceId": 7, "destId": 8, "cost": 1.5})"),
      "graph.txt");
  CHECK(graph.profile.source == "dnn-partitioning");
  CHECK(graph.profile.machine == GraphMachine{2, 1, Bytes{1000}});
  const GraphNode& node = graph.profile.nodes.at(0);
  CHECK(node.name == "7");
  CHECK(node.description == "conv");
  CHECK(node.accelerator);
  CHECK(node.forward == Seconds(0.003));
  CHECK(node.cpu == Seconds(0.03));
  CHECK(node.memory == Bytes{250});
  CHECK(node.color_class == 4);
  CHECK(node.transfer == Seconds(0.0015));
  CHECK(node.next == std::vector<int>{1});
  CHECK(!graph.profile.nodes.at(1).color_class);
}

TEST_CASE("import: an error of graph.txt names the place and what was expected") {
  CHECK(read_error("") == "g:1:1: expected a graph, found an empty file");
  CHECK(read_error("\n\ta -- b\n") == "g:1:1: expected nodes, found none");
  CHECK(read_error("hello\n") ==
        "g:1:1: expected 'id -- description -- key=value, ...', found 'hello'");
  CHECK(read_error(kLine + "\n" + kLine) == "g:2:1: expected each node once, found node2 again");
  CHECK(read_error(kLine + "\n\tnode2 -- node3") ==
        "g:2:11: expected the id of a node, found 'node3'");
  CHECK(read_error(kLine + "\n\tnode2") ==
        "g:2:2: expected 'source -- destination', found 'node2'");
  CHECK(read_error(kLine + " -- 3") == "g:1:164: expected stage_id=K, found '3'");
  CHECK(read_error("a -- b -- forward_compute_time=nan") ==
        "g:1:32: forward_compute_time: expected a number from 0, found 'nan'");
  CHECK(read_error("a -- b -- forward_compute_time=-1.0") ==
        "g:1:32: forward_compute_time: expected a number from 0, found '-1.0'");
  CHECK(read_error("a -- b -- forward_compute_time=1e308") ==
        "g:1:32: forward_compute_time: expected at most 1e+15, found 1e+308");
  CHECK(read_error("a -- b -- parameter_size=1, parameter_size=1") ==
        "g:1:29: expected parameter_size once, found it again");
  CHECK(read_error("a -- b -- parameter_size=1") ==
        "g:1:11: expected forward_compute_time, found no such key");
  CHECK(hint_of([] { (void)import_graph("a -- b -- parameters_size=1", "g"); }) ==
        "did you mean parameter_size?");
}

TEST_CASE("import: a cycle is told by its nodes, in both formats") {
  CHECK(read_error(node_line("a") + node_line("b") + "\ta -- b\n\tb -- a\n") ==
        "g: expected a graph without cycles, found b -> a -> b");
  CHECK(read_error(node_line("a") + "\ta -- a\n") ==
        "g: expected a graph without cycles, found a -> a");
  CHECK(read_error(json(json_node("1"), R"({"sourceId": 1, "destId": 1, "cost": 0})")) ==
        "g: expected a graph without cycles, found 1 -> 1");
}

TEST_CASE("import: an error of the JSON names the place and what was expected") {
  CHECK(read_error(json("", "")).find("nodes: expected at least one node, found none") !=
        std::string::npos);
  CHECK(read_error(json(json_node("1") + "," + json_node("1"), ""))
            .find("nodes[1].id: expected each node once, found 1 again") != std::string::npos);
  CHECK(read_error(json(json_node("1"), R"({"sourceId": 1, "destId": 2, "cost": 0})"))
            .find("edges[0].destId: expected the id of a node") != std::string::npos);
  CHECK(read_error(json(json_node("1", R"(, "size": NaN)"), "")).find("nodes[0].size") !=
        std::string::npos);
  CHECK(read_error(json(json_node("1", R"(, "size": -1)"), "")).find("nodes[0].size") !=
        std::string::npos);
  CHECK(read_error(json(json_node("1") + "," + json_node("2") + "," + json_node("3"),
                        R"({"sourceId": 1, "destId": 2, "cost": 1}, )"
                        R"({"sourceId": 1, "destId": 3, "cost": 2})"))
            .find("edges[1].cost: expected the same on every edge out of node 1") !=
        std::string::npos);
}

TEST_CASE("import: more nodes than any later step could hold are refused") {
  std::string text;
  for (std::size_t node = 0; node <= kMostGraphNodes; ++node) {
    text += "n" + std::to_string(node) +
            " -- x -- forward_compute_time=1, backward_compute_time=1, activation_size=1, "
            "parameter_size=1\n";
  }
  CHECK(read_error(text) == "g:100001:1: expected at most 100000 nodes, found more");
}

TEST_CASE("import: what was imported is written and read as a profile") {
  GraphProfile profile = import_graph(node_line("1") + kLine + "\n\t1 -- node2\n", "g").profile;
  profile.tool_version = "0.1.0";
  profile.nodes[0].color_class = -3;
  profile.nodes[1].transfer = Seconds(0.25);
  const std::string text = write_graph_profile(profile);
  CHECK(is_graph_profile(text));
  CHECK(read_graph_profile(text, "p") == profile);
  CHECK(write_graph_profile(read_graph_profile(text, "p")) == text);
}

TEST_CASE("graph profile: unknown readers, repeated names and cycles are refused") {
  GraphProfile profile = import_graph(node_line("a") + node_line("b") + "\ta -- b\n", "g").profile;
  const std::string text = write_graph_profile(profile);
  const auto error_with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return message_of([&] { (void)read_graph_profile(changed, "p"); });
  };
  CHECK(error_with("next: [b]", "next: [c]").starts_with("p:7:"));
  CHECK(error_with("next: [b]", "next: [c]").find("expected names of nodes, found c") !=
        std::string::npos);
  CHECK(error_with("next: [b]", "next: [b, b]").find("expected each node once, found b again") !=
        std::string::npos);
  CHECK(error_with("name: b", "name: a").find("expected each name once, found a again") !=
        std::string::npos);
  CHECK(error_with("next: []", "next: [a]").find("without cycles, found b -> a -> b") !=
        std::string::npos);
}

}  // namespace ppplan::profiler
