#include "reports/render/explanation_parts.h"

#include <fmt/format.h>

#include <cstddef>

namespace ppplan::render {

std::vector<NamedTime> parts_of(const StepParts& parts) {
  return {{"forward and backward", "work_s", parts.work},
          {"traffic among devices that share a layer", "sharing_s", parts.sharing},
          {"recompute", "recompute_s", parts.recompute},
          {"starting actions", "calls_s", parts.calls},
          {"filling the pipeline", "fill_s", parts.fill},
          {"draining the pipeline", "drain_s", parts.drain},
          {"waiting: uneven ranks, gaps in the order", "imbalance_s", parts.imbalance},
          {"waiting for transfers", "transfer_s", parts.transfer},
          {"reducing gradients", "reduction_s", parts.reduction},
          {"optimizer", "optimizer_s", parts.optimizer},
          {"overhead of a step", "overhead_s", parts.overhead}};
}

std::vector<NamedTime> parts_of(const CriticalPath& path) {
  const auto on_rank = [&](std::string_view what) {
    return fmt::format("rank {}: {}", path.rank, what);
  };
  return {{"other ranks, before its first turn (fill)", "fill_s", path.fill},
          {on_rank("forward and backward"), "work_s", path.work},
          {on_rank("traffic among devices that share a layer"), "sharing_s", path.sharing},
          {on_rank("recompute"), "recompute_s", path.recompute},
          {on_rank("starting actions"), "calls_s", path.calls},
          {"other ranks, in between", "between_s", path.between},
          {"other ranks, after its last turn (drain)", "drain_s", path.drain},
          {"transfers", "transfer_s", path.transfer},
          {"reducing gradients", "reduction_s", path.reduction},
          {"optimizer", "optimizer_s", path.optimizer},
          {"overhead of a step", "overhead_s", path.overhead}};
}

NamedTime greatest_difference(const StepParts& loser, const StepParts& winner) {
  std::vector<NamedTime> own = parts_of(loser);
  const std::vector<NamedTime> other = parts_of(winner);
  std::size_t most = 0;
  for (std::size_t at = 0; at < own.size(); ++at) {
    own[at].time -= other[at].time;
    if (own[at].time > own[most].time) most = at;
  }
  return own[most];
}

std::string obstacle_in_words(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kCompute:
      return "more to compute than other ranks";
    case Obstacle::kMemory:
      return "recompute, because memory is short";
    case Obstacle::kSharing:
      return "traffic among devices that share a layer";
    case Obstacle::kTransfer:
      return "transfers between ranks";
    case Obstacle::kReduction:
      return "reducing gradients";
    case Obstacle::kPipeline:
      return "filling and draining the pipeline";
  }
  return "";
}

std::string_view obstacle_key(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kCompute:
      return "compute";
    case Obstacle::kMemory:
      return "memory";
    case Obstacle::kSharing:
      return "sharing";
    case Obstacle::kTransfer:
      return "transfer";
    case Obstacle::kReduction:
      return "reduction";
    case Obstacle::kPipeline:
      return "pipeline";
  }
  return "";
}

}  // namespace ppplan::render
