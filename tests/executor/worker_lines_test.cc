#include "executor/launch/worker_lines.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace ppplan::launch {
namespace {

struct Heard final : Progress {
  void advance(double done, double total, std::string_view detail) override {
    said.push_back(fmt::format("{} of {}: {}", done, total, detail));
  }
  void note(std::string_view line) override { said.emplace_back(line); }
  std::vector<std::string> said;
};

TEST_CASE("worker lines: progress of rank 0 and notes of all are passed on") {
  Heard heard;
  WorkerLines lines(heard);
  lines.receive(0, "progress 3 10.5 step 3, loss 5.1");
  lines.receive(1, "progress 4 10.5 step 4");
  lines.receive(1, "note warning: cold");
  lines.receive(0, "note warning: cold");
  CHECK(heard.said == std::vector<std::string>{"3 of 10.5: step 3, loss 5.1", "warning: cold"});
}

TEST_CASE("worker lines: what is no protocol is passed over") {
  Heard heard;
  WorkerLines lines(heard);
  for (const char* line : {"", "progress", "progress ", "progress 1", "progress x 2 y",
                           "progress nan 2", "progress 1 inf a", "progress 1e999 2",
                           "progress 1 2x", "[W123] some library speaks", "notes"}) {
    lines.receive(0, line);
  }
  CHECK(heard.said.empty());
}

TEST_CASE("worker lines: a flood of notes ends") {
  Heard heard;
  WorkerLines lines(heard);
  for (int count = 0; count < 1000; ++count) lines.receive(0, fmt::format("note {}", count));
  CHECK(heard.said.size() == 50);
}

}  // namespace
}  // namespace ppplan::launch
