#include "reports/render/plan_in_words.h"

#include "reports/documents/described.h"
#include "reports/render/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <sstream>

namespace ppplan::render {
namespace {

constexpr std::size_t kMostCounts = 8;  ///< that are listed one by one

}  // namespace

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string grouped(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t sign = count < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100.0 * share);
}

std::string wrapped(const std::string& sentence, std::size_t width) {
  std::istringstream words(sentence);
  std::string text;
  std::size_t column = 0;
  for (std::string word; words >> word; column += display_width(word)) {
    if (column > 0 && column + 1 + display_width(word) > width) {
      text += '\n';
      column = 0;
    } else if (column > 0) {
      text += ' ';
      ++column;
    }
    text += word;
  }
  return text + '\n';
}

std::string layout_in_words(const Layout& layout, int rank_count, std::size_t stage_count) {
  std::string words = plural(stage_count, "stage");
  if (stage_count != static_cast<std::size_t>(rank_count)) {
    words += " on " + plural(static_cast<std::size_t>(rank_count), "rank");
  }
  if (layout.data_parallel > 1) words += fmt::format(" × {} pipelines", layout.data_parallel);
  const Sharding& sharding = layout.sharding;
  if (sharding.device_count() > 1) {
    const std::string how = sharding.context == 1  ? "tensor parallel"
                            : sharding.tensor == 1 ? "context parallel"
                                                   : fmt::format("tensor {} × context {} parallel",
                                                                 sharding.tensor, sharding.context);
    words += fmt::format(" × {} devices a layer ({})", sharding.device_count(), how);
  }
  if (sharding.expert > 1) words += fmt::format(", experts over {} devices", sharding.expert);
  if (layout.data_sharding == DataSharding::kOptimizer) words += ", optimizer sharded";
  if (layout.data_sharding == DataSharding::kParameters) words += ", fully sharded";
  return words;
}

std::string layout_in_figures(const Layout& layout, int rank_count) {
  return fmt::format("{} × {} × {}", layout.sharding.device_count(), rank_count,
                     layout.data_parallel);
}

std::string devices_in_words(const Plan& plan) {
  if (plan.available_devices == 0) return "";
  const auto rank_count = static_cast<std::int64_t>(plan.ranks.size());
  std::string words =
      fmt::format("{} of {} devices", grouped(plan.layout.device_count() * rank_count),
                  grouped(plan.available_devices));
  if (rank_count == 1 || plan.layout.data_parallel == 1) return words;
  return words + (plan.layout.order == DeviceOrder::kPipelineInside
                      ? ", stages of a pipeline side by side in nodes"
                      : ", a stage's copies in all pipelines side by side in nodes");
}

std::string batches_in_words(const Plan& plan) {
  const std::size_t count = plan.micro_batches.size();
  const int last = plan.micro_batches.back();
  const std::string where = plan.layout.data_parallel > 1 ? " in each pipeline" : "";
  if (count == 1) return fmt::format("one micro-batch of {}{}", last, where);
  if (last == plan.micro_batch) {
    return fmt::format("{} micro-batches of {}{}", count, last, where);
  }
  return fmt::format("{} micro-batches ({} of {}, one of {}){}", count, count - 1, plan.micro_batch,
                     last, where);
}

std::string recompute_in_words(const PlanStage& stage) {
  int full = 0;
  int selective = 0;
  int segment = 1;
  for (const RecomputeRun& run : stage.recompute) {
    segment = std::max(segment, run.segment);
    if (run.recompute == Recompute::kFull) full += run.layer_count;
    if (run.recompute == Recompute::kSelective) selective += run.layer_count;
  }
  if (full + selective == 0) return "";
  std::string words;
  if (full > 0) words = fmt::format("full {}", full);
  if (selective > 0) {
    words += fmt::format("{}selective {}", words.empty() ? "" : ", ", selective);
  }
  if (segment > 1) words += fmt::format(" by {}", segment);
  return fmt::format("{} of {}", words, stage.layer_count);
}

std::string chunk_in_words(std::int64_t recompute_chunk) {
  return recompute_chunk == 0 ? ""
                              : fmt::format("in pieces of {} tokens", grouped(recompute_chunk));
}

std::string beyond_the_executor(const Plan& plan) {
  if (!plan.export_only) return "";
  std::vector<std::string> reasons;
  if (plan.layout.sharding.device_count() > 1)
    reasons.emplace_back("layers shared between devices");
  if (plan.layout.data_parallel > 1) reasons.emplace_back("several pipelines");
  const bool recomputes = std::ranges::any_of(
      plan.stages, [](const PlanStage& stage) { return !stage.recompute.empty(); });
  if (recomputes) reasons.emplace_back("recompute");
  if (plan.recompute_chunk != 0) reasons.emplace_back("layers computed in pieces");
  if (reasons.empty()) reasons.emplace_back("this plan");
  return fmt::format("{}", fmt::join(reasons, ", "));
}

std::string counts_in_words(const std::vector<int>& counts) {
  const bool equal = std::ranges::adjacent_find(counts, std::not_equal_to<>()) == counts.end();
  if (equal && counts.size() > 2) return fmt::format("{} each", counts.front());
  if (counts.size() <= kMostCounts) return fmt::format("{}", fmt::join(counts, " "));
  std::vector<std::string> runs;
  for (auto at = counts.begin(); at != counts.end();) {
    const auto end = std::find_if(at, counts.end(), [&](int count) { return count != *at; });
    runs.push_back(end - at == 1 ? std::to_string(*at) : fmt::format("{} of {}", end - at, *at));
    at = end;
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

void write_layout(JsonWriter& json, const Layout& layout) {
  json.member("tensor_parallel", layout.sharding.tensor)
      .member("context_parallel", layout.sharding.context)
      .member("expert_parallel", layout.sharding.expert)
      .member("data_parallel", layout.data_parallel)
      .member("data_sharding", sharding_words()[static_cast<std::size_t>(layout.data_sharding)])
      .member("device_order", order_words()[static_cast<std::size_t>(layout.order)]);
}

}  // namespace ppplan::render
