// Schedules against those of other systems: the orders PyTorch emits, and what simulating each
// system's own order gives.
#include "planner/schedule/generators.h"
#include "planner/schedule/lowering.h"
#include "planner/schedule/simulator.h"
#include "planner/schedule/text.h"
#include "planner/schedule/walk.h"
#include "reports/documents/file.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ppplan;
using namespace ppplan::planner;

namespace {

const std::filesystem::path kFolder = std::filesystem::path(PPPLAN_SHARED_ROOT) / "data/schedules";

bool available() {
  if (std::filesystem::exists(kFolder)) return true;
  MESSAGE("skipped: no " << kFolder.string());
  return false;
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Schedule made(const std::string& name, int rank_count, int micro_batch_count, int virtual_count) {
  return std::get<Schedule>(make_schedule(name, {.rank_count = rank_count,
                                                 .micro_batch_count = micro_batch_count,
                                                 .virtual_count = virtual_count}));
}

/// In-flight activations by rank, in micro-batches of a rank's whole share.
std::vector<double> peaks_of(const Schedule& schedule) {
  const double chunks = static_cast<double>(schedule.stage_count()) / schedule.rank_count();
  std::vector<double> peaks;
  for (const RankMemory& memory : memory_peaks(schedule, uniform_costs(schedule, {}))) {
    peaks.push_back(memory.in_flight / chunks);
  }
  return peaks;
}

std::vector<int> sends_of(const Schedule& schedule) {
  std::vector<int> sends;
  for (const std::vector<Action>& actions : with_communication(schedule).ranks) {
    sends.push_back(static_cast<int>(
        std::ranges::count_if(actions, [](const Action& a) { return is_send(a.kind); })));
  }
  return sends;
}

struct Known {
  const char* theirs;
  const char* ours;
  int virtual_count;
};

}  // namespace

TEST_SUITE_BEGIN("shared");

TEST_CASE("schedules: orders equal PyTorch's") {
  if (!available()) return;
  const std::map<std::string, std::string> names = {
      {"GPipe", "gpipe"},          {"Interleaved1F1B", "interleaved-1f1b"},
      {"LoopedBFS", "looped-bfs"}, {"InterleavedZeroBubble", "interleaved-zero-bubble"},
      {"ZBVZeroBubble", "zb-v"},   {"DualPipeV", "dualpipe-v"}};
  int compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(kFolder / "torch-2.11")) {
    const std::string stem = file.path().stem().string();
    CAPTURE(stem);
    int ranks = 0;
    int stages = 0;
    int micro_batches = 0;
    const std::string shape = stem.substr(stem.find('_'));
    REQUIRE(std::sscanf(shape.c_str(), "_pp%d_ns%d_m%d", &ranks, &stages, &micro_batches) == 3);
    const auto name = names.find(stem.substr(0, stem.find('_')));
    REQUIRE(name != names.end());
    const Schedule ours = made(name->second, ranks, micro_batches, stages / ranks);
    Schedule theirs = from_csv(text_of(file.path()), stem);
    theirs.name = ours.name;
    CHECK(to_csv(ours) == to_csv(theirs));
    CHECK(ours == theirs);
    ++compared;
  }
  CHECK(compared >= 8);
}

TEST_CASE("schedules: makespan, in-flight activations and sends equal the known ones") {
  if (!available()) return;
  const std::vector<Known> rows = {{"GPipe", "gpipe", 1},
                                   {"1F1B", "1f1b", 1},
                                   {"Interleaved1F1B v=2", "interleaved-1f1b", 2},
                                   {"Interleaved1F1B v=4", "interleaved-1f1b", 4},
                                   {"LoopedBFS v=2", "looped-bfs", 2},
                                   {"InterleavedZeroBubble v=2", "interleaved-zero-bubble", 2},
                                   {"InterleavedZeroBubble v=4", "interleaved-zero-bubble", 4},
                                   {"ZBVZeroBubble", "zb-v", 1},
                                   {"DualPipeV", "dualpipe-v", 1},
                                   {"ZB-H1", "zb-h1", 1},
                                   {"ZB-H2", "zb-h2", 1},
                                   {"V-Min", "v-min", 1},
                                   {"V-Half", "v-half", 1},
                                   {"ZB-V", "zb-v", 1}};
  std::map<std::string, std::vector<std::string>> golden;
  std::ifstream file(kFolder / "golden_p4_m8.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::vector<std::string> fields;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '\t');) fields.push_back(cell);
    golden[fields.at(0)] = fields;
  }
  CHECK(golden.size() == rows.size());
  for (const Known& row : rows) {
    CAPTURE(row.theirs);
    REQUIRE(golden.contains(row.theirs));
    const std::vector<std::string>& fields = golden[row.theirs];
    const Schedule schedule = made(row.ours, 4, 8, row.virtual_count);
    CHECK(schedule.stage_count() == std::stoi(fields.at(2)));
    CHECK(simulate(schedule, uniform_costs(schedule, {})).makespan.count() ==
          doctest::Approx(std::stod(fields.at(3))));
    CHECK(fmt::format("{}", fmt::join(peaks_of(schedule), ",")) == fields.at(4));
    CHECK(fmt::format("{}", fmt::join(sends_of(schedule), ",")) == fields.at(5));
  }
}

TEST_SUITE_END();
