#include "planner/rivals.h"

#include "planner/size_search.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace ppplan::planner {
namespace {

/// Sizes of a way that are priced.
constexpr int kPricedSizes = 4;

/// A family of layouts: what is asked, and what is kept of the answer.
struct Way {
  std::string name;
  bool pipeline = false;
  PartitionOptions options;
  std::function<bool(const PipelineShape&)> keep;
};

bool all_devices_copy(const PipelineShape& shape) {
  return shape.layout.data_parallel > 1;
}
bool shares_layers(const PipelineShape& shape) {
  return shape.layout.sharding.device_count() > 1;
}

std::vector<Way> ways_of(const PartitionOptions& asked, int device_count) {
  PartitionOptions free = asked;
  free.device_count = device_count;
  free.stage_count.reset();
  free.tensor_parallel.reset();
  free.data_parallel.reset();
  free.data_sharding.reset();
  free.micro_batch.reset();
  free.virtual_count.reset();
  free.recompute = Recompute::kFull;
  free.recompute_chunk.reset();
  free.pins.clear();
  free.device_order.clear();
  free.layer_counts.clear();
  std::erase(free.schedules, kSynthesized);
  PartitionOptions flat = free;
  flat.stage_count = 1;
  if (!flat.forward_only) flat.schedules = {"1f1b"};  // on one rank each micro-batch in turn
  PartitionOptions alone = flat;
  alone.device_count = 1;
  PartitionOptions copies = flat;
  copies.tensor_parallel = 1;
  PartitionOptions single = free;
  single.tensor_parallel = 1;
  const auto sharded = [](PartitionOptions options, DataSharding sharding) {
    options.data_sharding = sharding;
    return options;
  };
  const auto single_pipeline = [](const PipelineShape& shape) {
    return shape.rank_count > 1 && shape.layout.device_count() == 1;
  };
  const auto pipelines = [](const PipelineShape& shape) {
    return shape.rank_count > 1 && shape.layout.data_parallel > 1;
  };
  const auto mixed = [](const PipelineShape& shape) {
    return shape.rank_count > 1 && shares_layers(shape);
  };
  PartitionOptions one_pipeline = single;
  one_pipeline.data_parallel = 1;
  const Way one_device{"one device", false, alone, [](const PipelineShape&) { return true; }};
  if (device_count == 1) return {one_device};
  return {one_device,
          {"data parallel", false, sharded(copies, DataSharding::kNone), all_devices_copy},
          {"data parallel, optimizer sharded", false, sharded(copies, DataSharding::kOptimizer),
           all_devices_copy},
          {"fully sharded data parallel", false, sharded(copies, DataSharding::kParameters),
           all_devices_copy},
          {"tensor parallel", false, flat, shares_layers},
          {"tensor parallel, fully sharded", false, sharded(flat, DataSharding::kParameters),
           [](const PipelineShape& shape) {
             return shares_layers(shape) && shape.layout.data_parallel > 1;
           }},
          {"pipeline", true, one_pipeline, single_pipeline},
          {"pipeline and data parallel", true, single, pipelines},
          {"pipeline and tensor parallel", true, free, mixed}};
}

/// The best of a way; empty where it has no layout.
std::optional<RivalPlan> best_of(const Question& asked, const Way& way) {
  Question question = asked;
  try {
    question = ask(*asked.profile, way.options);
  } catch (const Error&) {
    return std::nullopt;  // no rows, or the batch cannot be dealt out
  }
  question.book = asked.book;  // the same profile and sequence: its costs are known
  std::erase_if(question.shapes, [&](const PipelineShape& shape) { return !way.keep(shape); });
  if (question.shapes.empty()) return std::nullopt;
  SearchCounts counts;
  try {
    std::vector<Priced> priced = price_sizes(question, sizes_of(question), counts, kPricedSizes);
    const auto best =
        priced.front().fits ? priced.begin() : std::ranges::min_element(priced, {}, &Priced::peak);
    return RivalPlan{way.name, way.pipeline, *best};
  } catch (const Error&) {
    return std::nullopt;  // no micro-batch or schedule serves it
  }
}

}  // namespace

std::vector<RivalPlan> find_rivals(const Question& question, const PartitionOptions& options,
                                   int device_count) {
  std::vector<RivalPlan> rivals;
  for (const Way& way : ways_of(options, device_count)) {
    if (auto best = best_of(question, way)) rivals.push_back(std::move(*best));
  }
  return rivals;
}

std::string layout_words(const Layout& layout, int rank_count) {
  std::string words;
  const auto add = [&](const char* name, int degree) {
    if (degree > 1) words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name, degree);
  };
  add("pipeline", rank_count);
  add("tensor", layout.sharding.tensor);
  add("context", layout.sharding.context);
  add("expert", layout.sharding.expert);
  add("data", layout.data_parallel);
  if (words.empty()) return "1 device";
  if (layout.data_sharding == DataSharding::kOptimizer) words += ", optimizer sharded";
  if (layout.data_sharding == DataSharding::kParameters) words += ", fully sharded";
  return words;
}

Rival describe_rival(const RivalPlan& rival, double tokens) {
  const CostBasis& basis = rival.priced.candidate->basis();
  const Seconds step = rival.priced.step;
  return {.way = rival.way,
          .device_count = basis.device_count(),
          .layout = layout_words(basis.layout, basis.rank_count),
          .micro_batch = rival.priced.candidate->micro_batch(),
          .step = step,
          .tokens_per_s = step > Seconds(0) ? tokens / step.count() : 0.0,
          .peak = rival.priced.peak,
          .fits = rival.priced.fits};
}

std::optional<Seconds> price_again(const Question& question, const Priced& priced) {
  const Candidate& known = *priced.candidate;
  const CostBasis& basis = known.basis();
  const std::int64_t pipelines = basis.layout.data_parallel;
  if (question.global_batch % pipelines != 0) return std::nullopt;
  const std::int64_t batch = question.global_batch / pipelines;
  if (batch < known.micro_batch()) return std::nullopt;
  const Size size{.shape = {.layout = basis.layout, .rank_count = basis.rank_count},
                  .chunk = basis.recompute_chunk,
                  .micro_batch = known.micro_batch()};
  Question same = question;
  same.schedules = {known.schedule().name};
  same.virtual_count = known.stage_count() / known.rank_count();
  if (same.virtual_count == 1) same.virtual_count.reset();
  try {
    // A smaller last micro-batch must have been measured too.
    const IntegerRange measured =
        question.book->table(basis.layout.sharding, basis.recompute_chunk, basis.device_count())
            .micro_batches();
    const std::int64_t rest = batch % known.micro_batch();
    if (rest > 0 && rest < measured.least) return std::nullopt;
    const Offer offered = offer(same, make_basis(same, size));
    if (offered.candidates.empty()) return std::nullopt;
    const Candidate& candidate = offered.candidates.front();
    if (candidate.excess(priced.cut) > Bytes{0}) return std::nullopt;
    return candidate.step(priced.cut);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace ppplan::planner
