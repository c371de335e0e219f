#include "planner/verdict.h"

#include "planner/schedule/analysis.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

}  // namespace

std::optional<SingleDevice> single_device(const Question& question) {
  Question alone = question;
  alone.micro_batch.reset();
  alone.virtual_count.reset();
  alone.pins.clear();
  alone.layer_counts.clear();
  alone.schedules = {"1f1b"};  // on one rank: each micro-batch forward and backward in turn
  alone.shapes = {{.layout = {}, .rank_count = 1}};
  std::vector<Size> sizes;
  try {
    sizes = sizes_of(alone);
  } catch (const Error&) {
    return std::nullopt;  // the profile has no sizes for it: no comparison, yet no fault of the
                          // plan
  }
  const Cut whole{0, static_cast<int>(question.profile->model.layers.size())};
  std::optional<SingleDevice> best;
  for (const Size& size : sizes) {
    for (const Candidate& candidate : offer(alone, make_basis(alone, size)).candidates) {
      const SingleDevice found{.step = candidate.step(whole),
                               .needed = candidate.memory(0, whole[0], whole[1]),
                               .allowed = candidate.allowed().front()};
      const auto rank = [](const SingleDevice& one) {
        return std::tuple(!one.fits(), one.fits() ? Bytes{0} : one.needed, one.step);
      };
      if (!best || rank(found) < rank(*best)) best = found;
    }
  }
  return best;
}

Verdict judge_plan(const Candidate& candidate, const Cut& cut, const Evaluation& evaluation,
                   const std::optional<SingleDevice>& alone, std::optional<Seconds> rival) {
  const int rank_count = candidate.rank_count();
  const Seconds step = evaluation.step;
  if (rank_count == 1) {
    if (!rival) return {false, 1.0, "no pipeline: this plan is what pipelines are compared with"};
    return {false, *rival / step,
            fmt::format("not worth it: one device is fastest; the best pipeline takes {} a step, "
                        "{:.1f} % more",
                        human(*rival), 100.0 * (*rival / step - 1.0))};
  }
  const std::string cause = costliest(candidate, cut, evaluation);
  if (!alone) return {true, 0.0, "the profile cannot tell what one device would take; " + cause};
  if (!alone->fits()) {
    return {
        true, 0.0,
        fmt::format("worth it: one device cannot hold this training ({} needed, {} allowed); {}",
                    human(alone->needed), human(alone->allowed), cause)};
  }
  const double speedup = alone->step / step;
  if (speedup <= 1.0) {
    return {false, speedup,
            fmt::format("not worth it: one device takes {} a step, this plan {:.1f} % more; {}",
                        human(alone->step), 100.0 * (1.0 / speedup - 1.0), cause)};
  }
  if (speedup < 1.0 + kPredictionError) {
    return {
        false, speedup,
        fmt::format("hardly worth it: {:.2f} times as fast as one device ({} a step), less than "
                    "predictions may be off; {}",
                    speedup, human(alone->step), cause)};
  }
  return {
      true, speedup,
      fmt::format("worth it: {:.2f} times as fast as one device ({} a step), {:.0f} % of the "
                  "ideal {}; {}",
                  speedup, human(alone->step), 100.0 * speedup / rank_count, rank_count, cause)};
}

}  // namespace ppplan::planner
