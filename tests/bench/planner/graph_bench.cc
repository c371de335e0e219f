// Prints time and memory of cutting graphs: published ones, where they are kept beside the project,
// and made-up ones of growing size. Not a test: nothing is asserted.
//   cmake --build build/release --target ppplan_graph_bench &&
//   build/release/tests/ppplan_graph_bench
// PipeDream's optimizer and the program of dnn-partitioning are not in the package registries and
// therefore not in this run: nothing here compares with their times.
#include "planner/graph/max_load.h"
#include "planner/graph/pipedream.h"
#include "profiler/import/import.h"
#include "reports/documents/file.h"
#include "reports/render/table.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace ppplan;
using planner::GraphAnswer;

/// What a child process measured of itself.
struct Measured {
  double bottleneck_s = 0.0;
  double gap = 0.0;
  std::size_t ideal_count = 0;
  std::int64_t pair_count = 0;
  bool exact = false;
};

/// Runs `cut` in a process of its own, so that its memory is its own, and adds a row.
void add_row(render::Table& table, const std::string& graph, const std::string& question,
             std::size_t node_count, const std::function<GraphAnswer()>& cut) {
  int channel[2];
  if (pipe(channel) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    const GraphAnswer answer = cut();
    const Measured measured{
        .bottleneck_s = answer.bottleneck.count(),
        .gap = answer.lower_bound > Seconds(0) ? answer.bottleneck / answer.lower_bound - 1.0 : 0.0,
        .ideal_count = answer.ideal_count,
        .pair_count = answer.pair_count,
        .exact = answer.exact};
    const bool told = write(channel[1], &measured, sizeof measured) == sizeof measured;
    _exit(told ? 0 : 1);
  }
  close(channel[1]);
  Measured measured;
  const bool told = read(channel[0], &measured, sizeof measured) == sizeof measured;
  close(channel[0]);
  rusage used{};
  wait4(child, nullptr, 0, &used);
  if (!told) {
    table.row({graph, question, std::to_string(node_count), "failed"});
    return;
  }
  const double cpu_s = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
  table.row({graph, question, std::to_string(node_count),
             measured.ideal_count == 0 ? "too many" : std::to_string(measured.ideal_count),
             human_count(static_cast<double>(measured.pair_count)),
             fmt::format("{:.6f} ms", 1e3 * measured.bottleneck_s),
             measured.exact ? "exact" : fmt::format("{:.2f} %", 100.0 * measured.gap),
             fmt::format("{:.3f} s", cpu_s), human(Bytes{used.ru_maxrss * 1024})});
}

render::Table new_table(const std::string& title) {
  return render::Table({{"graph", render::Align::kLeft},
                        {"question", render::Align::kLeft},
                        {"nodes"},
                        {"ideals"},
                        {"pairs"},
                        {"bottleneck"},
                        {"gap"},
                        {"CPU"},
                        {"memory"}},
                       title);
}

struct Question {
  std::string name;
  planner::PipeDreamOptions options;
};

std::vector<Question> pipedream_questions() {
  return {{"4 devices", {.levels = {{4, BytesPerSecond{1e9}}}}},
          {"16 devices", {.levels = {{16, BytesPerSecond{1e9}}}}},
          {"4 x 4", {.levels = {{4, BytesPerSecond{1.2e10}}, {4, BytesPerSecond{1.25e9}}}}}};
}

void published(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) {
    fmt::print("skipped: {} is not there\n", folder.string());
    return;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  render::Table table = new_table("Published graphs");
  for (const std::filesystem::path& file : files) {
    const GraphProfile profile = profiler::import_graph(read_file(file), file.string()).profile;
    const std::string name = file.stem().string();
    if (profile.machine) {
      const planner::MaxLoadOptions options{.accelerators = profile.machine->accelerators,
                                            .cpus = profile.machine->cpus,
                                            .memory = profile.machine->memory};
      add_row(table, name, fmt::format("max-load, {}", options.accelerators), profile.nodes.size(),
              [&] { return planner::cut_max_load(profile, options); });
      continue;
    }
    for (const Question& question : pipedream_questions()) {
      add_row(table, name, question.name, profile.nodes.size(),
              [&] { return planner::cut_pipedream(profile, question.options); });
    }
  }
  fmt::print("{}\n", table.text({.width = 140}));
}

/// Blocks of parallel branches between single nodes, as in inception networks.
GraphProfile branching(bool bytes, int block_count, const std::vector<int>& branches) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> amount(0.1, 1.0);
  GraphProfile profile;
  const auto add = [&](const std::vector<int>& before) {
    const int index = static_cast<int>(profile.nodes.size());
    GraphNode& node = profile.nodes.emplace_back();
    node.name = std::to_string(index);
    node.forward = Seconds(amount(random));
    if (bytes) {
      node.output = Bytes{static_cast<std::int64_t>(1e8 * amount(random))};
      node.parameters = Bytes{static_cast<std::int64_t>(1e7 * amount(random))};
    } else {
      node.transfer = Seconds(amount(random));
    }
    for (const int from : before)
      profile.nodes[static_cast<std::size_t>(from)].next.push_back(index);
    return index;
  };
  int join = add({});
  for (int block = 0; block < block_count; ++block) {
    std::vector<int> ends;
    for (const int length : branches) {
      int last = join;
      for (int node = 0; node < length; ++node) last = add({last});
      ends.push_back(last);
    }
    join = add(ends);
  }
  return profile;
}

void growth_of_lattices() {
  render::Table table = new_table("Growth with the number of ideals (blocks of branches)");
  for (const std::vector<int>& branches : {std::vector<int>{2, 3, 2},
                                           {3, 4, 5, 3},
                                           {3, 9, 15, 4},
                                           {5, 9, 15, 7},
                                           {9, 15, 15, 9},
                                           {20, 20, 20, 20}}) {
    const GraphProfile times = branching(false, 11, branches);
    add_row(table, fmt::format("11 x {}", branches.size()), "max-load, 6", times.nodes.size(),
            [&] { return planner::cut_max_load(times, {.accelerators = 6, .cpus = 1}); });
    const GraphProfile bytes = branching(true, 11, branches);
    for (const Question& question : pipedream_questions()) {
      if (question.options.levels.size() > 1) continue;
      add_row(table, fmt::format("11 x {}", branches.size()), question.name, bytes.nodes.size(),
              [&] { return planner::cut_pipedream(bytes, question.options); });
    }
  }
  fmt::print("{}\n", table.text({.width = 140}));
}

void growth_of_chains() {
  render::Table table = new_table("Growth with layers and devices (chains)");
  for (const int layer_count : {100, 1'000, 10'000}) {
    const GraphProfile times = branching(false, layer_count, {0});
    const GraphProfile bytes = branching(true, layer_count, {0});
    for (const int device_count : {8, 64, 512, 4'096}) {
      add_row(table, "chain", fmt::format("max-load, {}", device_count), times.nodes.size(),
              [&] { return planner::cut_max_load(times, {.accelerators = device_count}); });
      add_row(table, "chain", fmt::format("{} devices", device_count), bytes.nodes.size(), [&] {
        return planner::cut_pipedream(bytes, {.levels = {{device_count, BytesPerSecond{1e9}}}});
      });
    }
  }
  fmt::print("{}\n", table.text({.width = 140}));
}

}  // namespace

int main() {
  published(std::filesystem::path(PPPLAN_SHARED_ROOT) / "data/graphs");
  growth_of_lattices();
  growth_of_chains();
}
