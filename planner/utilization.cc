#include "planner/utilization.h"

#include "planner/rivals.h"

#include <algorithm>

namespace ppplan::planner {
namespace {

/// The peak of all devices of a plan; 0 where that of one is not known. Ranks name their devices.
double peak_flops_per_s(const Plan& plan, const Profile& profile) {
  double sum = 0.0;
  for (const PlanRank& rank : plan.ranks) {
    const auto device = std::ranges::find(profile.devices, rank.device, &Device::name);
    if (device == profile.devices.end() || device->peak_flops_per_s <= 0.0) return 0.0;
    sum += device->peak_flops_per_s * plan.layout.device_count();
  }
  return sum;
}

}  // namespace

int device_count(const Plan& plan) {
  return static_cast<int>(plan.ranks.size()) * plan.layout.device_count();
}

Rival as_rival(const Plan& plan) {
  Bytes peak;
  for (const PlanRank& rank : plan.ranks) peak = std::max(peak, rank.memory.total());
  return {.way = "this plan",
          .device_count = device_count(plan),
          .layout = layout_words(plan.layout, static_cast<int>(plan.ranks.size())),
          .micro_batch = plan.micro_batch,
          .step = plan.predicted.step,
          .tokens_per_s = plan.predicted.tokens_per_s,
          .peak = peak};
}

void set_utilization(Plan& plan, const Profile& profile, double flops_per_token) {
  Prediction& predicted = plan.predicted;
  predicted.tokens_per_s_per_device = predicted.tokens_per_s / device_count(plan);
  const double peak = peak_flops_per_s(plan, profile);
  predicted.mfu = peak > 0.0 ? predicted.tokens_per_s * flops_per_token / peak : 0.0;
}

}  // namespace ppplan::planner
