// Prices plans again that a document describes: theirs is the profile's question, but layout,
// sizes, schedule and cut are given.
#pragma once

#include "planner/candidate.h"
#include "planner/partition.h"
#include "planner/question.h"
#include "reports/documents/plan.h"

#include <limits>
#include <memory>
#include <optional>

namespace ppplan::planner {

/// The question that a plan answers.
PartitionOptions options_of(const Plan& plan);

/// A plan, priced again.
struct PricedAgain {
  std::shared_ptr<const Candidate> candidate;
  Cut cut;
  Evaluation evaluation;
  /// The same layers where traffic between devices costs nothing.
  ChainCosts unlinked;
};

class PlanPricer {
 public:
  /// Throws Error(kBadInput) as partition does. `profile` must outlive this.
  PlanPricer(const Profile& profile, const PartitionOptions& options);

  /// Throws Error(kBadInput) where the plan is none of this profile's: sizes that were not
  /// measured, micro-batches that do not follow one size, a schedule beyond kPlannedActionLimit.
  [[nodiscard]] PricedAgain plan(const Plan& plan) const;

  /// Empty where its order of actions is not known (a synthesized one), or it does not fit the
  /// profile.
  [[nodiscard]] std::optional<PricedAgain> runner_up(const RunnerUp& runner_up) const;

  [[nodiscard]] const Question& question() const { return question_; }

 private:
  /// What of a plan the search chose.
  struct Choice {
    Layout layout;
    int rank_count = 1;
    std::int64_t chunk = 0;
    int micro_batch = 0;
    Schedule schedule;
    Cut cut;
    Seconds step{0};  ///< to tell orders of devices apart that differ
  };

  [[nodiscard]] PricedAgain price(Choice choice) const;
  void check(const Choice& choice) const;
  [[nodiscard]] std::vector<PipelineShape> shapes_like(const Choice& choice) const;

  std::unique_ptr<Profile> unlinked_profile_;
  Question question_;
  Question unlinked_;
};

}  // namespace ppplan::planner
