#include "planner/verdict.h"

#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace ppplan::planner {
namespace {

/// What would change the answer: the largest part of the step beyond work.
std::string binding(const StepParts& parts, Seconds step) {
  const std::array<std::pair<Seconds, std::string>, 5> causes = {{
      {parts.imbalance, fmt::format("rank {} computing longer than the mean", parts.busiest_rank)},
      {parts.fill_drain, "filling and draining the pipeline"},
      {parts.transfers, "transfers between stages"},
      {parts.reduction, "reducing shared weights' gradients"},
      {parts.optimizer, "the optimizer"},
  }};
  const auto& [time, name] =
      *std::ranges::max_element(causes, {}, &std::pair<Seconds, std::string>::first);
  const double share = 100.0 * (time / step);
  if (share < 0.5) return "nothing but its work binds";
  return fmt::format("what costs most beside work is {} ({:.0f} % of the step)", name, share);
}

}  // namespace

StepParts step_parts(const Candidate& candidate, const Cut& cut, const Evaluation& evaluation) {
  ScheduleCosts free_transfers = candidate.costs(cut);
  for (std::vector<StageCost>& classes : free_transfers.stages) {
    for (StageCost& cost : classes) cost.send_activation = cost.send_gradient = Seconds(0);
  }
  const Seconds without = simulate(candidate.schedule(), free_transfers).makespan;
  const std::vector<Seconds>& busy = evaluation.timeline.busy;
  const auto busiest = std::ranges::max_element(busy);
  Seconds sum{0};
  for (const Seconds time : busy) sum += time;
  const Seconds mean = sum / static_cast<double>(busy.size());
  return {.work = mean,
          .imbalance = *busiest - mean,
          .fill_drain = without - *busiest,
          .transfers = evaluation.timeline.makespan - without,
          .reduction = *std::ranges::max_element(evaluation.reduction),
          .optimizer = *std::ranges::max_element(evaluation.optimizer),
          .overhead = candidate.basis().step_overhead,
          .busiest_rank = static_cast<int>(busiest - busy.begin())};
}

std::optional<SingleDevice> single_device(const Question& question) {
  Question alone = question;
  alone.micro_batch.reset();
  alone.schedules = {"1f1b"};  // on one rank: each micro-batch forward and backward in turn
  std::vector<std::shared_ptr<const CostBasis>> bases;
  try {
    bases = cost_bases(alone, 1);
  } catch (const Error&) {
    return std::nullopt;  // the profile has no sizes for it: no comparison, yet no fault of the
                          // plan
  }
  const Cut whole{0, static_cast<int>(question.profile->model.layers.size())};
  std::optional<SingleDevice> best;
  for (const auto& basis : bases) {
    for (const Candidate& candidate : candidates(alone, basis, 1)) {
      const SingleDevice found{.step = candidate.step(whole),
                               .micro_batch = candidate.micro_batch(),
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

Verdict judge_plan(const StepParts& parts, int stage_count, Seconds step,
                   const std::optional<SingleDevice>& alone) {
  if (stage_count == 1) {
    return {.worth_it = false,
            .speedup = 1.0,
            .sentence = "no pipeline: this plan is one device, to which others are compared"};
  }
  if (!alone) {
    return {.worth_it = true,
            .speedup = 0.0,
            .sentence = "not compared with one device: the profile has no rows for it"};
  }
  if (!alone->fits()) {
    return {
        .worth_it = true,
        .speedup = 0.0,
        .sentence = fmt::format("worth it: one device cannot hold this training ({} needed, {} "
                                "allowed); {}",
                                human(alone->needed), human(alone->allowed), binding(parts, step))};
  }
  const double speedup = alone->step / step;
  if (speedup > 1.0) {
    return {
        .worth_it = true,
        .speedup = speedup,
        .sentence = fmt::format("worth it: {:.2f} times as fast as one device ({} a step), {:.0f} "
                                "% of the ideal {}; {}",
                                speedup, human(alone->step), 100.0 * speedup / stage_count,
                                stage_count, binding(parts, step))};
  }
  return {.worth_it = false,
          .speedup = speedup,
          .sentence =
              fmt::format("not worth it: one device takes {} a step, this plan {:.0f} % more; "
                          "{}",
                          human(alone->step), 100.0 * (1.0 / speedup - 1.0), binding(parts, step))};
}

}  // namespace ppplan::planner
