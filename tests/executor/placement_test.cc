#include "executor/launch/placement.h"

#include <doctest/doctest.h>

#include <vector>

namespace ppplan::launch {
namespace {

using Cores = std::vector<int>;

TEST_CASE("placement: ranks share the cores in consecutive parts") {
  const auto placements =
      place(2, {.logical = {0, 1, 2, 3, 5}, .physical = {0, 1, 2, 3, 5}, .quota = 5});
  CHECK(placements[0].cores == Cores{0, 1});
  CHECK(placements[1].cores == Cores{2, 3, 5});
  CHECK(placements[0].threads == 2);
  CHECK(placements[1].threads == 2);
}

TEST_CASE("placement: hyper-threads of a core count as one thread") {
  const auto placements = place(2, {.logical = {0, 4, 1, 5}, .physical = {0, 0, 1, 1}, .quota = 4});
  CHECK(placements[0].cores == Cores{0, 4});
  CHECK(placements[0].threads == 1);
}

TEST_CASE("placement: a container's quota limits threads, not the cores to choose from") {
  const auto placements =
      place(2, {.logical = {0, 1, 2, 3}, .physical = {0, 1, 2, 3}, .quota = 2.5});
  CHECK(placements[1].cores == Cores{2, 3});
  CHECK(placements[1].threads == 1);
}

TEST_CASE("placement: more ranks than cores are not pinned") {
  for (const WorkerPlacement& placement :
       place(3, {.logical = {0, 1}, .physical = {0, 1}, .quota = 2})) {
    CHECK(placement == WorkerPlacement{});
  }
}

TEST_CASE("placement: a quota below one core still leaves one thread") {
  CHECK(place(1, {.logical = {7}, .physical = {7}, .quota = 0.3})[0].threads == 1);
}

}  // namespace
}  // namespace ppplan::launch
