#include "reports/export/pytorch.h"

#include "planner/schedule/planned.h"
#include "planner/schedule/text.h"
#include "reports/documents/error.h"
#include "reports/documents/json_writer.h"
#include "reports/export/pytorch/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace ppplan::exports {
namespace {

using Parts = std::vector<std::vector<std::string>>;

/// The largest number up to `most` that divides `total`.
std::int64_t largest_divisor(std::int64_t total, std::int64_t most) {
  std::int64_t best = 1;
  for (std::int64_t small = 1; small * small <= total; ++small) {
    if (total % small != 0) continue;
    for (const std::int64_t divisor : {small, total / small}) {
      if (divisor <= most) best = std::max(best, divisor);
    }
  }
  return best;
}

std::optional<Inexpressible> uneven_micro_batches(const Plan& plan) {
  const auto [least, most] = std::ranges::minmax(plan.micro_batches);
  if (least == most) return std::nullopt;
  std::int64_t batch = 0;
  for (const int samples : plan.micro_batches) batch += samples;
  const std::int64_t even = largest_divisor(batch, most);
  return Inexpressible{
      fmt::format(
          "micro-batches of {} and {} samples: PyTorch's stages take every micro-batch in the "
          "shape of the first",
          most, least),
      fmt::format("'ppplan partition ... --micro-batch {}' makes {} equal micro-batches", even,
                  batch / even)};
}

std::optional<Inexpressible> empty_stages(const Plan& plan) {
  const auto has_layers = [](const PlanStage& stage) { return stage.layer_count > 0; };
  const auto full = std::ranges::count_if(plan.stages, has_layers);
  if (full == std::ssize(plan.stages)) return std::nullopt;
  const auto empty = std::ranges::find_if_not(plan.stages, has_layers) - plan.stages.begin();
  return Inexpressible{
      fmt::format("stage {} without a layer: PyTorch's stages begin at a module of the model",
                  empty),
      fmt::format("'ppplan partition ... --stages {}' is the same split without empty stages",
                  full)};
}

std::optional<Inexpressible> inexpressible(const Plan& plan) {
  if (plan.layout.device_count() != 1) {
    return Inexpressible{
        fmt::format("tensor parallelism of {} and data parallelism of {}: the training "
                    "script is for pipelines alone",
                    plan.layout.sharding.tensor, plan.layout.data_parallel),
        "a plan with one replica of unsharded layers can be exported"};
  }
  const auto frozen = std::ranges::find_if(plan.model.layers, &Layer::frozen);
  if (frozen != plan.model.layers.end()) {
    return Inexpressible{
        fmt::format("layer {} is frozen: PyTorch's stages expect a gradient from every layer",
                    frozen - plan.model.layers.begin()),
        "a plan of the same model without frozen layers can be exported"};
  }
  if (auto refused = empty_stages(plan)) return refused;
  return uneven_micro_batches(plan);
}

struct TiedWeight {
  std::vector<int> stages;         ///< the owner's first
  std::vector<std::string> names;  ///< by stage
};

/// Every tensor that layers share, and the stages that hold a copy.
std::vector<TiedWeight> tied_weights(const Plan& plan) {
  std::map<std::string, TiedWeight, std::less<>> by_owner;
  std::map<std::string, int, std::less<>> stage_of;
  for (int stage = 0; stage < static_cast<int>(plan.stages.size()); ++stage) {
    const PlanStage& held = plan.stages[static_cast<std::size_t>(stage)];
    for (int index = held.first_layer; index < held.first_layer + held.layer_count; ++index) {
      const Layer& layer = plan.model.layers[static_cast<std::size_t>(index)];
      for (const std::string& name : parameter_names(plan.model, index))
        stage_of.emplace(name, stage);
      for (const TiedParameter& tied : layer.tied) {
        TiedWeight& weight = by_owner[tied.owner];
        weight.stages.push_back(stage);
        weight.names.push_back(layer.prefix + tied.name);
      }
    }
  }
  std::vector<TiedWeight> all;
  for (auto& [owner, weight] : by_owner) {
    weight.stages.insert(weight.stages.begin(), stage_of.at(owner));
    weight.names.insert(weight.names.begin(), owner);
    all.push_back(std::move(weight));
  }
  return all;
}

/// Blocks the plan holds: fewer than the configuration's where the model was cut short to be
/// profiled.
std::int64_t block_count(const Model& model) {
  return std::ranges::count_if(model.layers, [&](const Layer& layer) {
    return model.kinds[static_cast<std::size_t>(layer.kind)].role == LayerRole::kBlock;
  });
}

std::string plan_json(const Plan& plan, const planner::Schedule& schedule, const Parts& parts) {
  JsonWriter json;
  json.begin_object()
      .member("ppplan", plan.tool_version)
      .member("model", plan.model.name)
      .member("schedule", plan.schedule)
      .member("rank_count", schedule.rank_count())
      .member("stage_count", schedule.stage_count())
      .member("rank_of_stage", schedule.rank_of_stage)
      .member("micro_batch_count", schedule.micro_batch_count)
      .member("micro_batch", plan.micro_batches.front())
      .member("global_batch", plan.constraints.global_batch)
      .member("sequence", plan.constraints.sequence)
      .member("block_count", block_count(plan.model))
      .member("dtype", plan.kernels.precision)
      .member("predicted_step_s", plan.predicted.step)
      .member("module_fqns_per_model_part", parts);
  json.key("tied").begin_array();
  for (const TiedWeight& tied : tied_weights(plan)) {
    json.begin_object().member("stages", tied.stages).member("names", tied.names).end_object();
  }
  json.end_array().end_object();
  return json.take();
}

/// Where `pipeline()` is to cut: before the first module of every stage but the first.
std::string split_points_json(const Parts& parts) {
  JsonWriter json;
  json.begin_object();
  for (std::size_t stage = 1; stage < parts.size(); ++stage) {
    json.member(parts[stage].front(), "BEGINNING");
  }
  json.end_object();
  return json.take();
}

std::string stage_table(const Plan& plan, const Parts& parts) {
  std::string rows = "| stage | rank | layers | modules |\n|---|---|---|---|\n";
  for (std::size_t stage = 0; stage < parts.size(); ++stage) {
    const std::vector<std::string>& part = parts[stage];
    rows += fmt::format("| {} | {} | {} | `{}`{} |\n", stage, plan.stages[stage].rank,
                        plan.stages[stage].layer_count, part.front(),
                        part.size() > 1 ? fmt::format(" to `{}`", part.back()) : "");
  }
  return rows;
}

constexpr std::string_view kReadme = R"(# {model} as a pipeline of {stage_count} stages, for PyTorch

Written by ppplan {version}. Schedule `{schedule}`: {micro_batch_count} micro-batches of {micro_batch}
samples, {sequence} tokens each, on {rank_count} processes. ppplan predicts {step} a step on the machine
that it measured.

{stages}
## Launch

    torchrun --nproc-per-node {rank_count} train.py --config path/to/config.json

trains on GPUs with NCCL where there are any, else on the CPU with Gloo. `--weights FOLDER` starts from
`*.safetensors` instead of random weights, `--data FILE` reads a text of yours as bytes (its own source
without it). Needs torch 2.11 or later, transformers 5 and safetensors. The plan is of {block_count} blocks: a
configuration with more is cut to the first of them, one with fewer is refused.

## Files

- `schedule.csv`: one row a rank, for `_load_csv(file, format="compute_only")`.
- `plan.json`: ranks, modules and tied weights of the stages; micro-batches.
- `split_points.json`: the same split for `torch.distributed.pipelining.pipeline`, as
  `split_spec={{name: SplitPoint[point] for name, point in json.load(file).items()}}`.
- `hf_stages.py`: builds a stage of a Hugging Face model, and keeps tied weights equal.
- `train.py`: the training loop.
)";

std::string readme(const Plan& plan, const planner::Schedule& schedule, const Parts& parts) {
  return fmt::format(kReadme, fmt::arg("model", plan.model.name),
                     fmt::arg("stage_count", schedule.stage_count()),
                     fmt::arg("version", plan.tool_version), fmt::arg("schedule", plan.schedule),
                     fmt::arg("micro_batch_count", schedule.micro_batch_count),
                     fmt::arg("micro_batch", plan.micro_batches.front()),
                     fmt::arg("sequence", plan.constraints.sequence),
                     fmt::arg("rank_count", schedule.rank_count()),
                     fmt::arg("block_count", block_count(plan.model)),
                     fmt::arg("step", ppplan::human(plan.predicted.step)),
                     fmt::arg("stages", stage_table(plan, parts)));
}

}  // namespace

Export export_pytorch(const Plan& plan) {
  if (plan.micro_batches.empty() || plan.stages.empty()) {
    throw Error(Failure::kBadInput, "a plan needs at least one stage and one micro-batch");
  }
  const Parts parts = part_modules(plan);
  if (auto refused = inexpressible(plan)) return *std::move(refused);
  const planner::Schedule schedule = planner::planned_schedule(plan);
  return std::vector<ExportedFile>{{"schedule.csv", to_csv(schedule)},
                                   {"split_points.json", split_points_json(parts)},
                                   {"plan.json", plan_json(plan, schedule, parts)},
                                   {"train.py", std::string(kPytorchTrain)},
                                   {"hf_stages.py", std::string(kPytorchHfStages)},
                                   {"README.md", readme(plan, schedule, parts)}};
}

}  // namespace ppplan::exports
