// The proof of the planner's space: on small random questions its plans are as fast as the best of
// everything that can be tried, and take what they say.
#include "planner/partition.h"
#include "tests/support/exhaustive_planner.h"
#include "tests/support/random_questions.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <variant>

namespace ppplan::planner {
namespace {

using testing::exhaustive;
using testing::Judged;
using testing::random_layout;
using testing::random_pipeline;
using testing::RandomQuestion;

/// How often answers were as good.
struct Tally {
  int planned = 0;
  int equal = 0;
  int unfit = 0;
};

/// The plan takes the step and the memory that it says, fits, and no other is 1 % faster; where
/// there is no plan, nothing fits.
void compare(const RandomQuestion& question, Tally& tally) {
  const auto answer = partition(question.profile, question.options);
  const Seconds best = exhaustive(question.profile, question.options);
  const auto* planned = std::get_if<Planned>(&answer);
  if (planned == nullptr) {
    CHECK(std::isinf(best.count()));
    ++tally.unfit;
    return;
  }
  const Plan& plan = planned->plan;
  const Judged judged = testing::judge(question.profile, plan);
  CHECK(plan.predicted.step.count() == doctest::Approx(judged.step.count()).epsilon(1e-9));
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    CHECK(plan.ranks[rank].memory.total() == judged.needed[rank]);
    CHECK(judged.needed[rank] <= planned->allowed[rank]);
  }
  CHECK(judged.step.count() <= 1.01 * best.count());
  CHECK(plan.lower_bound.count() <= best.count() * (1.0 + 1e-9));
  CHECK(planned->search.bound.count() <= best.count() * (1.0 + 1e-9));
  ++tally.planned;
  tally.equal += judged.step.count() <= best.count() * (1.0 + 1e-9) ? 1 : 0;
}

}  // namespace

TEST_CASE("proof: 430 random pipelines are planned as well as trying everything") {
  std::mt19937 random(21);
  Tally tally;
  for (int instance = 0; instance < 430; ++instance) {
    CAPTURE(instance);
    compare(random_pipeline(random), tally);
  }
  CHECK(tally.planned > 250);
  CHECK(tally.unfit > 20);
  CHECK(tally.equal == tally.planned);
}

TEST_CASE("proof: 80 random layouts on two nodes are planned as well as trying everything") {
  std::mt19937 random(22);
  Tally tally;
  for (int instance = 0; instance < 80; ++instance) {
    CAPTURE(instance);
    compare(random_layout(random), tally);
  }
  CHECK(tally.planned > 50);
  CHECK(tally.equal == tally.planned);
}

}  // namespace ppplan::planner
