#include "planner/graph/lattice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

namespace ppplan::planner {
namespace {

Successors random_relation(std::mt19937& random, int item_count, double density) {
  Successors successors(static_cast<std::size_t>(item_count));
  for (int from = 0; from < item_count; ++from) {
    for (int to = from + 1; to < item_count; ++to) {
      if (std::bernoulli_distribution(density)(random)) {
        successors[static_cast<std::size_t>(from)].push_back(to);
      }
    }
  }
  return successors;
}

/// As bit masks, bit i for item i.
std::set<unsigned> ideals_by_definition(const Successors& successors) {
  std::set<unsigned> ideals;
  for (unsigned mask = 0; mask < (1U << successors.size()); ++mask) {
    bool closed = true;
    for (std::size_t item = 0; item < successors.size(); ++item) {
      for (const int next : successors[item]) {
        if ((mask >> next & 1U) != 0 && (mask >> item & 1U) == 0) closed = false;
      }
    }
    if (closed) ideals.insert(mask);
  }
  return ideals;
}

std::vector<unsigned> masks(const Lattice& lattice) {
  std::vector<unsigned> masks;
  for (Lattice::Ideal ideal = 0; ideal < lattice.size(); ++ideal) {
    unsigned mask = 0;
    for (const std::size_t item : lattice.items_between(0, ideal)) mask |= 1U << item;
    masks.push_back(mask);
  }
  return masks;
}

bool reaches(const Successors& successors, std::size_t from, std::size_t to) {
  if (from == to) return true;
  return std::any_of(successors[from].begin(), successors[from].end(), [&](int next) {
    return reaches(successors, static_cast<std::size_t>(next), to);
  });
}

}  // namespace

TEST_CASE("lattice: holds each ideal once, subsets first, and all steps between them") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const Successors successors = random_relation(random, 1 + round % 8, 0.1 * (round % 7));
    const Lattice lattice = Lattice::build(successors, {}).value();
    const std::vector<unsigned> found = masks(lattice);
    CHECK(std::set<unsigned>(found.begin(), found.end()) == ideals_by_definition(successors));
    REQUIRE(found.size() == ideals_by_definition(successors).size());
    std::size_t step_count = 0;
    for (Lattice::Ideal ideal = 0; ideal < lattice.size(); ++ideal) {
      std::size_t before = successors.size();
      for (const Lattice::Step& step : lattice.steps(ideal)) {
        CHECK(step.item < before);
        CHECK(step.ideal > ideal);
        CHECK(found[step.ideal] == (found[ideal] | 1U << step.item));
        before = step.item;
        ++step_count;
      }
    }
    std::size_t expected = 0;
    for (const unsigned mask : found) {
      for (std::size_t item = 0; item < successors.size(); ++item) {
        const bool more = (mask >> item & 1U) == 0;
        if (more && std::count(found.begin(), found.end(), mask | 1U << item) == 1) ++expected;
      }
    }
    CHECK(step_count == expected);
  }
}

TEST_CASE("lattice: is given up beyond its limits") {
  const Successors independent(30);
  CHECK(!Lattice::build(independent, {.ideals = 1'000}));
  CHECK(!Lattice::build(Successors(5'000), {.edges = 100'000}));
  CHECK(Lattice::build(Successors(3), {.ideals = 8}).value().size() == 8);
}

TEST_CASE("lattice: bottleneck items are comparable to every other") {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const Successors successors = random_relation(random, 1 + round % 9, 0.1 * (round % 8));
    std::vector<std::size_t> expected;
    for (std::size_t item = 0; item < successors.size(); ++item) {
      bool comparable = true;
      for (std::size_t other = 0; other < successors.size(); ++other) {
        comparable =
            comparable && (reaches(successors, item, other) || reaches(successors, other, item));
      }
      if (comparable) expected.push_back(item);
    }
    CHECK(bottleneck_items(successors) == expected);
  }
}

}  // namespace ppplan::planner
