#include "planner/verdict.h"

#include "planner/schedule/analysis.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ppplan::planner {
namespace {

/// Predictions may miss by so much: a smaller gain is no reason to cut a model.
constexpr double kPredictionError = 0.05;

/// The largest part of the step beside work, by name.
std::string costliest(const Candidate& candidate, const Cut& cut, const Evaluation& evaluation) {
  const BubbleCauses bubble =
      bubble_causes(candidate.schedule(), candidate.costs(cut), evaluation.timeline);
  const double rank_count = candidate.rank_count();
  const auto busiest = std::ranges::max_element(evaluation.timeline.busy);
  const std::array<std::pair<Seconds, std::string>, 5> causes = {{
      {(bubble.fill + bubble.drain) / rank_count, "filling and draining the pipeline"},
      {bubble.imbalance / rank_count,
       fmt::format("waiting between actions (rank {} computes longest)",
                   busiest - evaluation.timeline.busy.begin())},
      {bubble.transfer / rank_count, "transfers between stages"},
      {*std::ranges::max_element(evaluation.reduction), "reducing shared weights' gradients"},
      {*std::ranges::max_element(evaluation.optimizer), "the optimizer"},
  }};
  const auto& [time, name] =
      *std::ranges::max_element(causes, {}, &std::pair<Seconds, std::string>::first);
  const double share = 100.0 * (time / evaluation.step);
  if (share < 0.5) return "hardly anything costs beside the layers' work";
  return fmt::format("what costs most beside the layers' work: {}, {:.0f} % of the step", name,
                     share);
}

/// The fastest way without a pipeline that fits, else the one that needs least; nullptr where there
/// is none.
const RivalPlan* best_flat(const std::vector<RivalPlan>& rivals) {
  const auto rank = [](const RivalPlan& rival) {
    const Priced& priced = rival.priced;
    return std::tuple(!priced.fits, priced.fits ? priced.step : Seconds(0),
                      priced.fits ? Bytes{0} : priced.peak);
  };
  const RivalPlan* best = nullptr;
  for (const RivalPlan& rival : rivals) {
    if (!rival.pipeline && (best == nullptr || rank(rival) < rank(*best))) best = &rival;
  }
  return best;
}

std::string in_words(const RivalPlan& rival) {
  const CostBasis& basis = rival.priced.candidate->basis();
  if (basis.device_count() == 1) return "one device";
  return fmt::format("{} ({})", rival.way, layout_words(basis.layout, basis.rank_count));
}

/// Whether the answer changes when the question does; empty where either no longer stands.
std::optional<bool> still_worth_it(const Question& question, const Priced& plan,
                                   const Priced& flat) {
  const std::optional<Seconds> own = price_again(question, plan);
  const std::optional<Seconds> other = price_again(question, flat);
  if (!own || !other) return std::nullopt;
  return *own < *other;
}

/// What would turn the answer, nearest change first.
std::string turning_point(const Question& question, const PartitionOptions& options,
                          const Priced& plan, const Priced& flat) {
  const bool now = plan.step < flat.step;
  const auto turns = [&](const Question& changed) {
    const std::optional<bool> then = still_worth_it(changed, plan, flat);
    return then && *then != now;
  };
  for (const double factor : {0.5, 2.0, 0.25, 4.0, 0.1, 10.0}) {
    Profile profile = *question.profile;
    for (Link& link : profile.links) link.bandwidth.value *= factor;
    Question changed = question;
    changed.profile = &profile;
    changed.book = std::make_shared<CostBook>(profile, question.sequence,
                                              question.devices_per_node(), question.forward_only);
    if (turns(changed)) {
      return factor < 1.0
                 ? fmt::format("with links of {:.0f} % of the bandwidth it would be the other way",
                               100.0 * factor)
                 : fmt::format("with links {:.0f} times as fast it would be the other way", factor);
    }
  }
  for (const double factor : {0.5, 2.0, 0.25, 4.0}) {
    Question changed = question;
    changed.global_batch =
        static_cast<std::int64_t>(static_cast<double>(options.global_batch) * factor);
    if (changed.global_batch < 1) continue;
    if (turns(changed)) {
      return fmt::format("with a batch of {} it would be the other way", changed.global_batch);
    }
  }
  return "neither links a tenth or ten times as fast nor a batch a quarter or four times as large "
         "would change that";
}

std::string times(double factor) {
  return fmt::format("{:.2f} times", factor);
}

}  // namespace

Verdict judge_plan(const Question& question, const PartitionOptions& options, const Priced& best,
                   const Evaluation& evaluation, const std::vector<RivalPlan>& rivals,
                   std::optional<Seconds> pipeline) {
  const Candidate& candidate = *best.candidate;
  const CostBasis& basis = candidate.basis();
  const Seconds step = evaluation.step;
  if (candidate.rank_count() == 1) {
    if (!pipeline)
      return {false, 1.0, "no pipeline: this plan is what pipelines are compared with"};
    return {false, *pipeline / step,
            fmt::format("not worth it: {} is fastest; the best pipeline takes {} a step, {:.1f} % "
                        "more",
                        basis.device_count() == 1 ? "one device"
                                                  : layout_words(basis.layout, basis.rank_count),
                        human(*pipeline), 100.0 * (*pipeline / step - 1.0))};
  }
  const std::string cause = costliest(candidate, best.cut, evaluation);
  const RivalPlan* const flat = best_flat(rivals);
  if (flat == nullptr) {
    return {true, 0.0, "the profile cannot tell what the devices do without a pipeline; " + cause};
  }
  if (!flat->priced.fits) {
    return {true, 0.0,
            fmt::format("worth it: {} cannot hold this training ({} needed, {} allowed); {}",
                        in_words(*flat), human(flat->priced.peak),
                        human(flat->priced.candidate->allowed().front()), cause)};
  }
  const double speedup = flat->priced.step / step;
  const std::string turn = turning_point(question, options, best, flat->priced);
  const std::string other =
      fmt::format("{} ({} a step)", in_words(*flat), human(flat->priced.step));
  if (speedup <= 1.0) {
    return {false, speedup,
            fmt::format("not worth it: {} takes {} a step, this plan {:.1f} % more; {}; {}",
                        in_words(*flat), human(flat->priced.step), 100.0 * (1.0 / speedup - 1.0),
                        cause, turn)};
  }
  if (speedup < 1.0 + kPredictionError) {
    return {false, speedup,
            fmt::format("hardly worth it: {} as fast as {}, less than predictions may be off; {}",
                        times(speedup), other, cause)};
  }
  const bool one_device = flat->priced.candidate->basis().device_count() == 1;
  const std::string ideal =
      one_device ? fmt::format(", {:.0f} % of the ideal {}", 100.0 * speedup / basis.device_count(),
                               basis.device_count())
                 : "";
  return {true, speedup,
          fmt::format("worth it: {} as fast as {}{}; {}; {}", times(speedup), other, ideal, cause,
                      turn)};
}

}  // namespace ppplan::planner
