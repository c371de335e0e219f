#include "planner/what_if.h"

#include "planner/plan_pricer.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace ppplan::planner {
namespace {

constexpr Bytes kOneGibibyte{std::int64_t{1} << 30};

ChangedQuestion more_memory(ChangedQuestion question) {
  question.change = "1 GiB more on every device";
  if (question.options.memory) {
    *question.options.memory += kOneGibibyte;
  } else {
    for (Device& device : question.profile.devices) device.memory += kOneGibibyte;
  }
  return question;
}

/// A node of a cluster, else a device like the last one.
ChangedQuestion more_devices(ChangedQuestion question) {
  Profile& profile = question.profile;
  PartitionOptions& options = question.options;
  const int added = profile.cluster ? profile.cluster->devices_per_node : 1;
  question.change =
      added == 1 ? "one more device" : fmt::format("one more node: {} devices", added);
  if (options.device_count) *options.device_count += added;
  if (profile.cluster) {
    ++profile.cluster->node_count;
  } else if (!profile.devices.empty()) {
    profile.devices.push_back(profile.devices.back());
  }
  if (options.stage_count && !options.device_count && !profile.cluster) {
    ++*options.stage_count;
    question.plan_serves = false;
  }
  return question;
}

ChangedQuestion faster_links(ChangedQuestion question, LinkScope scope) {
  question.change = !question.profile.cluster     ? "links twice as fast"
                    : scope == LinkScope::kInside ? "links inside nodes twice as fast"
                                                  : "links between nodes twice as fast";
  for (Link& link : question.profile.links) {
    if (link.scope != scope) continue;
    link.latency /= 2.0;
    link.bandwidth.value *= 2.0;
  }
  return question;
}

ChangedQuestion other_batch(ChangedQuestion question, std::int64_t global_batch) {
  question.change = fmt::format("a batch of {}", global_batch);
  question.options.global_batch = global_batch;
  question.plan_serves = false;
  return question;
}

/// The present plan under a changed question.
std::optional<Plan> kept_plan(const ChangedQuestion& question, const Plan& plan) {
  if (!question.plan_serves) return std::nullopt;
  const PricedAgain priced = PlanPricer(question.profile, question.options).plan(plan);
  const Bytes excess = priced.candidate->excess(priced.cut);
  if (excess > Bytes{0}) return std::nullopt;
  Plan kept = plan;
  const double faster = plan.predicted.step / priced.evaluation.step;
  kept.predicted = {.step = priced.evaluation.step,
                    .bubble = priced.evaluation.timeline.bubble(),
                    .tokens_per_s = plan.predicted.tokens_per_s * faster};
  return kept;
}

}  // namespace

std::vector<ChangedQuestion> changed_questions(const Profile& profile, const Plan& plan) {
  const ChangedQuestion same{.change = {}, .profile = profile, .options = options_of(plan)};
  std::vector<ChangedQuestion> questions{more_memory(same)};
  if (same.options.layer_counts.empty() && !profile.links.empty()) {
    questions.push_back(more_devices(same));
  }
  for (const LinkScope scope : {LinkScope::kInside, LinkScope::kBetween}) {
    const bool any =
        std::ranges::any_of(profile.links, [&](const Link& link) { return link.scope == scope; });
    if (any) questions.push_back(faster_links(same, scope));
  }
  const std::int64_t batch = same.options.global_batch;
  if (batch % 2 == 0) questions.push_back(other_batch(same, batch / 2));
  questions.push_back(other_batch(same, batch * 2));
  return questions;
}

WhatIf answer(const ChangedQuestion& question, const Plan& plan) {
  WhatIf result{.change = question.change};
  try {
    auto found = partition(question.profile, question.options);
    if (const auto* infeasible = std::get_if<Infeasible>(&found)) {
      result.refusal = infeasible->reason;
    } else {
      result.plan = std::move(std::get<Planned>(found).plan);
    }
    std::optional<Plan> kept = kept_plan(question, plan);
    if (kept && (!result.plan || kept->predicted.step <= result.plan->predicted.step)) {
      result = {.change = question.change, .plan = std::move(kept), .same_plan = true};
    }
  } catch (const Error& error) {
    result.refusal = error.what();
  }
  return result;
}

}  // namespace ppplan::planner
