#include "planner/batch.h"
#include "planner/cost_table.h"
#include "planner/recompute.h"
#include "tests/support/synthetic_profile.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <vector>

namespace ppplan::planner {
namespace {

using testing::SyntheticLayer;

/// A chain of few kinds of layers, in any order.
Profile chain_of_kinds(std::mt19937& random, int layer_count, int kind_count) {
  const std::vector<SyntheticLayer> kinds =
      testing::recomputing(random, testing::random_layers(random, kind_count));
  Profile profile = testing::synthetic_profile(kinds, {.micro_batches = {1}});
  profile.model.layers.clear();
  for (int layer = 0; layer < layer_count; ++layer) {
    profile.model.layers.push_back(
        {.kind = static_cast<int>(random() % static_cast<unsigned>(kind_count))});
  }
  return profile;
}

/// 1F1B's fullest moments with so many micro-batches in flight.
Bytes peak(const ChainCosts& chain, const RecomputeChoice& choice, int in_flight) {
  const StageCost cost = chain.stage(0, chain.layer_count(), 0, choice);
  const Bytes forward = cost.saved * (in_flight - 1) + cost.forward_peak;
  const Bytes backward = cost.saved * in_flight + cost.backward_peak;
  return std::max(forward, backward);
}

/// The least time that any choice adds and fits.
double every_choice(const ChainCosts& chain, Recompute most, const ChoiceFits& fits) {
  double best = std::numeric_limits<double>::infinity();
  RecomputeChoice choice;
  const std::function<void(int, double)> choose = [&](int layer, double added_s) {
    if (layer == chain.layer_count()) {
      if (added_s < best && fits(choice)) best = added_s;
      return;
    }
    for (const Recompute option : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
      if (option > most || (option != Recompute::kNone && !chain.offers(layer, option))) continue;
      choice.push_back({layer, layer + 1, option});
      choose(layer + 1, added_s + chain.added(layer, option).count());
      choice.pop_back();
    }
  };
  choose(0, 0.0);
  return best;
}

}  // namespace

TEST_CASE("recompute: the least added time equals that of every choice of every layer") {
  std::mt19937 random(31);
  int chosen = 0;
  int none_fits = 0;
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const int layer_count = 1 + static_cast<int>(random() % 6);
    const int kind_count = 1 + static_cast<int>(random() % 3);
    const Profile profile = chain_of_kinds(random, layer_count, kind_count);
    const ChainCosts chain(profile, CostTable(profile, 128, 1), split_batch(4, 1));
    const int in_flight = 1 + static_cast<int>(random() % 8);
    const Recompute most = random() % 3 == 0 ? Recompute::kSelective : Recompute::kFull;
    const Bytes free = peak(chain, {}, in_flight);
    const Bytes limit{free.count * static_cast<int>(20 + random() % 80) / 100};
    const ChoiceFits fits = [&](const RecomputeChoice& choice) {
      return peak(chain, choice, in_flight) <= limit;
    };
    const double best = every_choice(chain, most, fits);
    const auto found = least_recompute(chain, 0, layer_count, most, fits);
    if (!found) {
      ++none_fits;
      CHECK(best == std::numeric_limits<double>::infinity());
      continue;
    }
    ++chosen;
    CHECK(fits(*found));
    CHECK(added_time(chain, *found).count() == doctest::Approx(best).epsilon(1e-9));
  }
  CHECK(chosen > 100);
  CHECK(none_fits > 50);
}

TEST_CASE("recompute: nothing is chosen where nothing need be, all where nothing fits") {
  std::mt19937 random(32);
  const Profile profile = chain_of_kinds(random, 5, 1);
  const ChainCosts chain(profile, CostTable(profile, 128, 1), split_batch(4, 1));
  const auto yes = [](const RecomputeChoice&) { return true; };
  const auto no = [](const RecomputeChoice&) { return false; };
  CHECK(least_recompute(chain, 0, 5, Recompute::kFull, yes) == RecomputeChoice{});
  CHECK_FALSE(least_recompute(chain, 0, 5, Recompute::kFull, no));
  CHECK(most_recompute(chain, 0, 5, Recompute::kNone) == RecomputeChoice{{0, 5, Recompute::kNone}});
}

}  // namespace ppplan::planner
