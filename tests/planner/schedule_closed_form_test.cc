// Every generator against the closed forms of its schedule, and for shapes of every kind.
//
// p ranks, m micro-batches, v stages a rank; F, I, W of a rank's whole share, B = I + W.
// Bubble: makespan - m (F + B).
#include "planner/schedule/checker.h"
#include "planner/schedule/generators.h"
#include "planner/schedule/lowering.h"
#include "planner/schedule/simulator.h"
#include "reports/documents/error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

using namespace ppplan;
using namespace ppplan::planner;

namespace {

const std::vector<RankTimes> kRatios = {
    {},
    {.forward = Seconds(1.0), .backward_input = Seconds(1.4), .backward_weight = Seconds(0.6)},
    {.forward = Seconds(2.0), .backward_input = Seconds(1.5), .backward_weight = Seconds(1.75)}};

struct Shape {
  int ranks;
  int micro_batches;
  int chunks = 1;
};

std::vector<Shape> shapes(const std::vector<int>& chunk_counts = {1}) {
  std::vector<Shape> all;
  for (const int ranks : {2, 4, 8, 16}) {
    for (const int rounds : {1, 2, 3, 5}) {
      for (const int chunks : chunk_counts) all.push_back({ranks, ranks * rounds, chunks});
    }
  }
  return all;
}

Schedule made(const std::string& name, const Shape& shape) {
  return std::get<Schedule>(make_schedule(name, {.rank_count = shape.ranks,
                                                 .micro_batch_count = shape.micro_batches,
                                                 .virtual_count = shape.chunks}));
}

double bubble_of(const Schedule& schedule, const RankTimes& times) {
  const Seconds useful = times.forward + times.backward_input + times.backward_weight;
  const Timeline timeline = simulate(schedule, uniform_costs(schedule, times));
  return (timeline.makespan - useful * schedule.micro_batch_count).count();
}

std::vector<int> held_by(const Schedule& schedule) {
  std::vector<int> held;
  for (const RankMemory& memory : memory_peaks(schedule, uniform_costs(schedule, {}))) {
    held.push_back(memory.in_flight);
  }
  return held;
}

/// Checks bubble(shape, times) and chunks held(shape, rank) for all shapes and ratios.
void check_forms(const std::string& name, const std::vector<Shape>& all,
                 const std::vector<RankTimes>& ratios,
                 const std::function<double(const Shape&, const RankTimes&)>& bubble,
                 const std::function<int(const Shape&, int)>& held) {
  for (const Shape& shape : all) {
    CAPTURE(name);
    CAPTURE(shape.ranks);
    CAPTURE(shape.micro_batches);
    CAPTURE(shape.chunks);
    const Schedule schedule = made(name, shape);
    for (const RankTimes& times : ratios) {
      CAPTURE(times.backward_input.count());
      CHECK(bubble_of(schedule, times) == doctest::Approx(bubble(shape, times)).epsilon(1e-9));
    }
    const std::vector<int> found = held_by(schedule);
    for (int rank = 0; rank < shape.ranks; ++rank) {
      CAPTURE(rank);
      CHECK(found[static_cast<std::size_t>(rank)] == held(shape, rank));
    }
  }
}

double full_skew(const Shape& shape, const RankTimes& times) {
  const Seconds pass = times.forward + times.backward_input + times.backward_weight;
  return (shape.ranks - 1) * pass.count() / shape.chunks;
}

double split_skew(const Shape& shape, const RankTimes& times) {
  const double late = (times.backward_input - times.backward_weight).count();
  return (shape.ranks - 1) * (times.forward.count() + std::max(0.0, late)) / shape.chunks;
}

}  // namespace

TEST_CASE("closed forms: GPipe and looped BFS wait (p-1)(F+B)/v and hold everything") {
  check_forms("gpipe", shapes(), kRatios, full_skew,
              [](const Shape& shape, int) { return shape.micro_batches; });
  check_forms("looped-bfs", shapes({1, 2, 3}), kRatios, full_skew,
              [](const Shape& shape, int) { return shape.micro_batches * shape.chunks; });
}

TEST_CASE("closed forms: 1F1B waits (p-1)(F+B) and holds min(m, p-r)") {
  check_forms("1f1b", shapes(), kRatios, full_skew, [](const Shape& shape, int rank) {
    return std::min(shape.micro_batches, shape.ranks - rank);
  });
}

TEST_CASE("closed forms: interleaved 1F1B waits (p-1)(F+B)/v") {
  check_forms("interleaved-1f1b", shapes({1, 2, 3, 4}), kRatios, full_skew,
              [](const Shape& shape, int rank) {
                return std::min(
                    shape.micro_batches * shape.chunks,
                    (shape.chunks - 1) * shape.ranks + 2 * (shape.ranks - rank - 1) + 1);
              });
}

TEST_CASE("closed forms: ZB-H1 waits (p-1)(F+max(0,I-W)) and holds p") {
  check_forms("zb-h1", shapes(), kRatios, split_skew,
              [](const Shape& shape, int) { return shape.ranks; });
}

TEST_CASE("closed forms: ZB-H2 waits (p-1)F with equal times and holds 2p") {
  const auto held = [](const Shape& shape, int) {
    return std::min(shape.micro_batches, 2 * shape.ranks);
  };
  std::vector<Shape> all = shapes();
  std::erase_if(all, [](const Shape& shape) { return shape.micro_batches < 2 * shape.ranks; });
  check_forms("zb-h2", all, {RankTimes{}}, split_skew, held);
}

TEST_CASE("closed forms: interleaved zero bubble waits (p-1)(F+max(0,I-W))/v and holds p") {
  check_forms("interleaved-zero-bubble", shapes({2, 3, 4}), kRatios, split_skew,
              [](const Shape& shape, int) { return shape.ranks * shape.chunks; });
}

TEST_CASE("closed forms: ZB-V waits (p-1)F/2 with equal times and holds p") {
  std::vector<Shape> all = shapes();
  std::erase_if(all, [](const Shape& shape) { return shape.micro_batches < 2 * shape.ranks; });
  check_forms(
      "zb-v", all, {RankTimes{}},
      [](const Shape& shape, const RankTimes& times) {
        return (shape.ranks - 1) * times.forward.count() / 2;
      },
      [](const Shape& shape, int) { return 2 * shape.ranks; });
}

TEST_CASE("closed forms: V-Half and V-Min keep their memory and known bubbles") {
  for (const Shape& shape : shapes()) {
    CAPTURE(shape.ranks);
    CAPTURE(shape.micro_batches);
    const Schedule half = made("v-half", shape);
    const Schedule least = made("v-min", shape);
    for (const int held : held_by(half)) CHECK(held <= shape.ranks + 2);
    for (const int held : held_by(least)) CHECK(held <= 2 * ((shape.ranks + 4) / 3));
    if (shape.ranks > 2 && shape.micro_batches >= 2 * shape.ranks) {
      CHECK(bubble_of(half, {}) <= 1.5 * shape.ranks - 3.5 + 1e-9);
    }
    if (shape.ranks == 4) CHECK(bubble_of(least, {}) <= 5.5 + 1e-9);
    if (shape.ranks == 8) CHECK(bubble_of(least, {}) <= 13.5 + 1e-9);
  }
}

TEST_CASE("generators: every schedule serves every rank and micro-batch count") {
  for (const std::string& name : schedule_names()) {
    for (const int ranks : {1, 2, 3, 5, 8}) {
      for (const int micro_batches : {1, 2, 4, 7, 11, 17}) {
        for (const int chunks : {1, 3}) {
          CAPTURE(name);
          CAPTURE(ranks);
          CAPTURE(micro_batches);
          CAPTURE(chunks);
          const Schedule schedule = made(name, {ranks, micro_batches, chunks});
          CHECK(schedule.name == name);
          CHECK(schedule.micro_batch_count == micro_batches);
          const auto fault = check(schedule);
          CHECK_MESSAGE(!fault, fault->message);
        }
      }
    }
  }
}

TEST_CASE("generators: interleaved micro-batch groups other than the rank count") {
  for (const std::string name : {"interleaved-1f1b", "interleaved-zero-bubble"}) {
    for (const int ranks : {1, 2, 4, 5}) {
      for (int group = 1; group <= 9; ++group) {
        for (int micro_batches = 1; micro_batches <= 19; ++micro_batches) {
          CAPTURE(name);
          CAPTURE(ranks);
          CAPTURE(group);
          CAPTURE(micro_batches);
          const auto result = make_schedule(name, {.rank_count = ranks,
                                                   .micro_batch_count = micro_batches,
                                                   .virtual_count = 3,
                                                   .micro_batch_group = group});
          const bool legal = group >= ranks || group >= micro_batches;
          CHECK(legal == std::holds_alternative<Schedule>(result));
          if (!legal) {
            CHECK(std::get<Unschedulable>(result).reason.find("next legal group is") !=
                  std::string::npos);
            continue;
          }
          const auto fault = check(std::get<Schedule>(result));
          CHECK_MESSAGE(!fault, fault->message);
        }
      }
    }
  }
}

TEST_CASE("generators: a larger group holds more and waits no longer") {
  const Shape shape{4, 16, 2};
  const auto grouped = [&](int group) {
    return std::get<Schedule>(make_schedule("interleaved-1f1b", {.rank_count = 4,
                                                                 .micro_batch_count = 16,
                                                                 .virtual_count = 2,
                                                                 .micro_batch_group = group}));
  };
  CHECK(grouped(4) == made("interleaved-1f1b", shape));
  CHECK(held_by(grouped(8))[0] == 8 + 2 * 3 + 1);
  CHECK(bubble_of(grouped(8), {}) == doctest::Approx(full_skew(shape, {})));
}

TEST_CASE("generators: unknown names and impossible counts are refused") {
  const auto message_of = [](const std::string& name, const ScheduleShape& shape) {
    try {
      make_schedule(name, shape);
    } catch (const Error& error) {
      CHECK(error.failure() == Failure::kBadInput);
      CHECK_FALSE(error.hint().empty());
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message_of("1f1", {}) == "unknown schedule '1f1'");
  CHECK(message_of("a\nb", {}) == "unknown schedule 'a\\x0ab'");
  CHECK(message_of("1f1b", {.rank_count = 0}).find("number of ranks") != std::string::npos);
  CHECK(message_of("1f1b", {.micro_batch_count = -3}).find("at least 1") != std::string::npos);
  for (const std::string& name : schedule_names()) {
    CHECK(message_of(name, {.rank_count = 4096, .micro_batch_count = 1'000'000})
              .find("50 million actions") != std::string::npos);
    CHECK(message_of(name, {.rank_count = 1'000'000, .virtual_count = 2'000'000'000})
              .find("50 million actions") != std::string::npos);
    CHECK(message_of(name, {.rank_count = 2'000'000'000}) ==
          "expected at most 1000000 ranks, found 2000000000");
  }
}

TEST_CASE("generators: a name in other letters is understood as a slip") {
  for (const auto& [slip, meant] : {std::pair("1F1B", "1f1b"), std::pair("GPipe", "gpipe"),
                                    std::pair("Interleaved1F1B", "interleaved-1f1b")}) {
    try {
      make_schedule(slip, {});
      FAIL("not refused");
    } catch (const Error& error) {
      CHECK(error.hint().starts_with(std::string("did you mean '") + meant + "'?"));
    }
  }
}

TEST_CASE(
    "generators: patterns that unfold over twice as many micro-batches as ranks stay bounded") {
  for (const std::string name : {"zb-v", "dualpipe-v"}) {
    const auto refused = make_schedule(name, {.rank_count = 20'000});
    REQUIRE(std::holds_alternative<Unschedulable>(refused));
    CHECK(std::get<Unschedulable>(refused).reason.ends_with(
        "the next legal number of ranks is 9000"));
    const Schedule few = std::get<Schedule>(make_schedule(name, {.rank_count = 300}));
    CHECK_FALSE(check(few));
    for (const std::vector<Action>& actions : few.ranks) CHECK(actions.capacity() < 16);
  }
}
