#include "reports/export/exporter.h"

#include "reports/documents/error.h"
#include "reports/documents/node.h"
#include "reports/export/pytorch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <ranges>
#include <set>

namespace ppplan::exports {
namespace {

constexpr std::array kExporters{
    Exporter{"pytorch",
             "torch.distributed.pipelining: schedule, split points and a training script",
             export_pytorch},
};

/// "model.layers.7." -> "model.layers.7"
std::string without_dot(std::string_view prefix) {
  return std::string(prefix.ends_with('.') ? prefix.substr(0, prefix.size() - 1) : prefix);
}

/// "model.norm.weight" -> "model.norm"; "" for a parameter of the model itself.
std::string module_of(std::string_view parameter) {
  const std::size_t dot = parameter.rfind('.');
  return std::string(parameter.substr(0, dot == std::string_view::npos ? 0 : dot));
}

/// The modules of one layer. Those of an embedding or a head are not under one name of their own.
std::vector<std::string> layer_modules(const Model& model, const Layer& layer) {
  const LayerKind& kind = model.kinds.at(static_cast<std::size_t>(layer.kind));
  if (kind.role == LayerRole::kBlock) return {without_dot(layer.prefix)};
  std::vector<std::string> modules;
  for (const Parameter& parameter : kind.parameters) {
    std::string module = module_of(layer.prefix + parameter.name);
    if (std::ranges::find(modules, module) == modules.end()) modules.push_back(std::move(module));
  }
  return modules;
}

void require_every_layer(const Plan& plan) {
  std::int64_t next = 0;
  for (const PlanStage& stage : plan.stages) {
    if (stage.first_layer != next || stage.layer_count < 0) {
      throw Error(Failure::kBadInput,
                  fmt::format("stages do not follow each other: expected layer {} first, found {}",
                              next, stage.first_layer));
    }
    next += stage.layer_count;
  }
  if (next != static_cast<std::int64_t>(plan.model.layers.size())) {
    throw Error(Failure::kBadInput, fmt::format("stages hold {} layers, the model has {}", next,
                                                plan.model.layers.size()));
  }
}

/// Two stages that name one module would each train their own copy of it.
void require_distinct(const std::vector<std::vector<std::string>>& parts) {
  std::set<std::string_view> seen;
  for (const std::string& module : std::views::join(parts)) {
    if (module.empty()) {
      throw Error(Failure::kBadInput,
                  "a layer's parameters belong to no module: its prefix is empty");
    }
    if (!seen.insert(module).second) {
      throw Error(Failure::kBadInput, fmt::format("module '{}' belongs to two layers", module));
    }
  }
}

}  // namespace

std::span<const Exporter> exporters() {
  return kExporters;
}

const Exporter& find_exporter(std::string_view name) {
  const auto found = std::ranges::find(kExporters, name, &Exporter::name);
  if (found != kExporters.end()) return *found;
  std::vector<std::string> names;
  for (const Exporter& exporter : kExporters) names.emplace_back(exporter.name);
  const std::optional<std::string> nearest = nearest_word(name, names);
  throw Error(Failure::kBadInput, fmt::format("--to: unknown trainer '{}'", name),
              nearest ? fmt::format("did you mean '{}'?", *nearest)
                      : fmt::format("trainers are {}", fmt::join(names, ", ")));
}

std::vector<std::vector<std::string>> part_modules(const Plan& plan) {
  require_every_layer(plan);
  std::vector<std::vector<std::string>> parts;
  for (const PlanStage& stage : plan.stages) {
    std::vector<std::string>& part = parts.emplace_back();
    for (int layer = stage.first_layer; layer < stage.first_layer + stage.layer_count; ++layer) {
      const auto modules =
          layer_modules(plan.model, plan.model.layers[static_cast<std::size_t>(layer)]);
      part.insert(part.end(), modules.begin(), modules.end());
    }
  }
  require_distinct(parts);
  return parts;
}

}  // namespace ppplan::exports
