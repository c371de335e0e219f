#include "cli/inspect_view.h"

#include "reports/documents/json_writer.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

namespace ppplan::cli {
namespace {

using profiler::CountOptions;
using profiler::LayerCounts;

const LayerKind& kind_of(const Model& model, const Layer& layer) {
  return model.kinds[static_cast<std::size_t>(layer.kind)];
}

template <typename Op>
const Op* find_operator(const LayerKind& kind) {
  for (const Operator& op : kind.program) {
    if (const auto* body = std::get_if<Op>(&op.body)) return body;
  }
  return nullptr;
}

/// "9×64, kv 3, ff 1536": heads × head size, key/value heads where they are fewer, feed-forward
/// width.
std::string block_shape(const LayerKind& kind) {
  std::string shape;
  if (const auto* attention = find_operator<AttentionOp>(kind)) {
    shape = fmt::format("{}×{}, ", attention->head_count, attention->head_size);
    if (attention->kv_head_count != attention->head_count) {
      shape += fmt::format("kv {}, ", attention->kv_head_count);
    }
  }
  std::int64_t feed_forward = 0;  // the block's last linear map is the one that ends it
  for (const Operator& op : kind.program) {
    if (const auto* linear = std::get_if<LinearOp>(&op.body)) feed_forward = linear->in_features;
  }
  return shape + fmt::format("ff {}", feed_forward);
}

std::string short_shape(const Model& model, const Layer& layer) {
  const LayerKind& kind = kind_of(model, layer);
  if (kind.role == LayerRole::kBlock) return block_shape(kind);
  if (kind.role == LayerRole::kHead) {
    return fmt::format("{}×{}{}", model.hidden, model.vocabulary,
                       layer.tied.empty() ? "" : ", tied");
  }
  const bool has_positions = find_operator<PositionEmbeddingOp>(kind) != nullptr;
  return fmt::format("{}×{}", model.vocabulary, model.hidden) +
         (has_positions ? fmt::format(" + {}×{}", model.max_sequence, model.hidden) : "");
}

/// Three significant digits: "0.512", "13.5", "108", "1014".
std::string three_digits(double number) {
  if (number >= 99.95) return fmt::format("{:.0f}", number);
  return fmt::format("{:.3g}", number);
}

template <std::size_t N>
using Units = std::array<const char*, N>;

struct Scale {
  double divisor = 1.0;
  const char* unit = "";
};

/// The largest unit of which `largest` has at least one.
template <std::size_t N>
Scale scale_for(double largest, double step, const Units<N>& units) {
  Scale scale{.divisor = 1.0, .unit = units[0]};
  for (std::size_t unit = 1; unit < N && largest / scale.divisor >= step; ++unit) {
    scale = {.divisor = scale.divisor * step, .unit = units[unit]};
  }
  return scale;
}

/// "13.5/13.5/27 MiB": one unit for what is compared.
std::string state_sizes(const LayerCounts& counts) {
  constexpr Units<6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  const Scale scale = scale_for(static_cast<double>(counts.optimizer.count), 1024.0, kUnits);
  const auto scaled = [&](Bytes size) {
    return three_digits(static_cast<double>(size.count) / scale.divisor);
  };
  return fmt::format("{}/{}/{} {}", scaled(counts.parameters), scaled(counts.gradients),
                     scaled(counts.optimizer), scale.unit);
}

std::string flops_text(double flops) {
  constexpr Units<7> kUnits{"", " K", " M", " G", " T", " P", " E"};
  const Scale scale = scale_for(flops, 1000.0, kUnits);
  return three_digits(flops / scale.divisor) + scale.unit;
}

/// Layers that follow each other and differ in nothing but their names.
struct Run {
  int first = 0;
  int count = 1;
};

std::vector<Run> runs(const Model& model) {
  std::vector<Run> runs;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const Layer& current = model.layers[layer];
    if (layer > 0 && current.tied.empty() && model.layers[layer - 1].tied.empty() &&
        current.kind == model.layers[layer - 1].kind &&
        current.frozen == model.layers[layer - 1].frozen) {
      ++runs.back().count;
    } else {
      runs.push_back({.first = static_cast<int>(layer)});
    }
  }
  return runs;
}

std::vector<std::string> cells(const LayerCounts& counts) {
  return {human_count(static_cast<double>(counts.parameter_count)),
          flops_text(counts.training_flops_per_token), state_sizes(counts),
          human(counts.activations_per_token)};
}

std::string notes(const Model& model, const CountOptions& counts) {
  std::string text = fmt::format(
      "A row is one layer, also where it stands for several. Blocks: heads × head size, key/value "
      "heads,\n"
      "feed-forward. Forward and backward FLOPs and kept activations are a token's at sequence "
      "{};\n"
      "{}, AdamW, nothing recomputed.\n",
      counts.sequence, counts.precision.name);
  for (const LayerKind& kind : model.kinds) {
    const auto* attention = find_operator<AttentionOp>(kind);
    if (attention == nullptr || !attention->window) continue;
    text += fmt::format("{}: attention looks back {} tokens.\n", kind.name, *attention->window);
  }
  for (const Layer& layer : model.layers) {
    for (const TiedParameter& tied : layer.tied) {
      text += fmt::format("{}{} is {}, counted once; stages apart each hold a copy.\n",
                          layer.prefix, tied.name, tied.owner);
    }
  }
  return text;
}

void write_counts(JsonWriter& json, const LayerCounts& counts) {
  json.member("parameter_count", counts.parameter_count)
      .member("training_flops_per_token", counts.training_flops_per_token)
      .member("parameters_bytes", counts.parameters)
      .member("gradients_bytes", counts.gradients)
      .member("optimizer_bytes", counts.optimizer)
      .member("activations_bytes_per_token", counts.activations_per_token);
}

void write_kinds(JsonWriter& json, const Model& model, const CountOptions& counts) {
  json.key("kinds").begin_array();
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    json.begin_object().member("name", model.kinds[kind].name);
    write_counts(json, profiler::count_kind(model, static_cast<int>(kind), counts));
    json.key("parameters").begin_array();
    for (const Parameter& parameter : model.kinds[kind].parameters) {
      json.begin_object()
          .member("name", parameter.name)
          .member("shape", parameter.shape)
          .end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_layers(JsonWriter& json, const Model& model) {
  json.key("layers").begin_array();
  for (const Layer& layer : model.layers) {
    json.begin_object().member("kind", kind_of(model, layer).name).member("prefix", layer.prefix);
    json.key("tied").begin_array();
    for (const TiedParameter& tied : layer.tied) {
      json.begin_object().member("name", tied.name).member("owner", tied.owner).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace

std::string inspect_table(const Model& model, const CountOptions& counts, render::Style style) {
  using render::Align;
  render::Table table(
      {{"layers", Align::kLeft},
       {"kind", Align::kLeft},
       {"shape", Align::kLeft, render::Fit::kShorten},
       {"params"},
       {"FLOPs"},
       {"weights/grads/AdamW"},
       {"activations"}},
      fmt::format("{}: {}, hidden {}, vocabulary {}, {} positions", model.name, model.family,
                  model.hidden, model.vocabulary, model.max_sequence));
  const auto add_row = [&](std::vector<std::string> row, const LayerCounts& of) {
    for (std::string& cell : cells(of)) row.push_back(std::move(cell));
    table.row(std::move(row));
  };
  for (const Run& run : runs(model)) {
    const Layer& layer = model.layers[static_cast<std::size_t>(run.first)];
    std::string name = std::to_string(run.first);
    if (run.count > 1) name += fmt::format("–{} ×{}", run.first + run.count - 1, run.count);
    add_row({name, kind_of(model, layer).name, short_shape(model, layer)},
            profiler::count_layer(model, run.first, counts));
  }
  table.rule();
  const LayerCounts total = profiler::count_model(model, counts);
  add_row({"total", "", ""}, total);
  return table.text({.style = style}) +
         fmt::format("\n{} unique parameters.\n", total.parameter_count) + notes(model, counts);
}

std::string inspect_json(const profiler::LoadedModel& loaded, const CountOptions& counts) {
  const Model& model = loaded.model;
  JsonWriter json;
  json.begin_object()
      .member("name", model.name)
      .member("family", model.family)
      .member("sha256", loaded.sha256)
      .member("hidden", model.hidden)
      .member("vocabulary", model.vocabulary)
      .member("max_sequence", model.max_sequence)
      .member("sequence", counts.sequence)
      .member("precision", counts.precision.name);
  write_kinds(json, model, counts);
  write_layers(json, model);
  json.key("total").begin_object().member("layer_count", model.layers.size());
  write_counts(json, profiler::count_model(model, counts));
  json.end_object().member("warnings", loaded.warnings).end_object();
  return json.take();
}

}  // namespace ppplan::cli
