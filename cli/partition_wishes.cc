#include "cli/partition_wishes.h"

#include "reports/documents/error.h"
#include "reports/documents/mapping.h"
#include "reports/documents/node.h"
#include "reports/documents/scalar.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace ppplan::cli {
namespace {

/// The words of options, by enumerator.
const std::vector<std::string> kRecomputeWords = {"none", "selective", "full"};
const std::vector<std::string> kShardWords = {"none", "optimizer"};

/// An option and the key that pins the same.
struct Names {
  const char* option;
  const char* key;
};

/// Sets options from wishes; refuses what contradicts.
class Merger {
 public:
  explicit Merger(const std::string& file) : file_(&file) {}

  template <typename T, typename Wish>
  void number(Names names, std::optional<T>& option, const std::optional<Wish>& wish) const {
    if (!wish) return;
    if (option && *option != *wish)
      contradict(names, fmt::to_string(*option), fmt::to_string(*wish));
    option = *wish;
  }

  void text(Names names, std::string& option, const std::optional<std::string>& wish) const {
    if (!wish) return;
    if (!option.empty() && option != *wish) contradict(names, option, *wish);
    option = *wish;
  }

  void size(Names names, std::string& option, const std::optional<Bytes>& wish) const {
    if (!wish) return;
    if (!option.empty() && size_of(names.option, option) != *wish) {
      contradict(names, option, human(*wish));
    }
    option = fmt::to_string(wish->count);
  }

  template <typename Enumerator>
  void word(Names names, std::string& option, const std::optional<Enumerator>& wish,
            const std::vector<std::string>& words) const {
    if (wish) text(names, option, words.at(static_cast<std::size_t>(*wish)));
  }

  template <typename T>
  void list(Names names, std::vector<T>& option, const std::vector<T>& wish) const {
    if (wish.empty()) return;
    if (!option.empty() && option != wish) {
      contradict(names, fmt::format("{}", fmt::join(option, ",")),
                 fmt::format("{}", fmt::join(wish, ",")));
    }
    option = wish;
  }

  [[noreturn]] void contradict(Names names, const std::string& option,
                               const std::string& wish) const {
    throw Error(Failure::kBadInput,
                fmt::format("{} {} contradicts {}: {} of {}", names.option, option, names.key, wish,
                            *file_),
                fmt::format("leave the option away, or write {}: auto", names.key));
  }

 private:
  const std::string* file_;
};

/// Without the samples' lengths, all are as long as the longest.
void apply_lengths(const Wishes& wishes, const Merger& merge, PartitionArguments& arguments) {
  LengthsQuestion& lengths = arguments.lengths;
  merge.text({"--lengths", "lengths"}, lengths.file, wishes.lengths);
  merge.text({"--lengths-column", "lengths_column"}, lengths.column, wishes.lengths_column);
  merge.word({"--batching", "batching"}, lengths.batching, wishes.batching,
             batching_method_words());
  merge.number({"--max-tokens", "max_tokens"}, lengths.max_tokens, wishes.max_tokens);
  merge.number({"--sequence", "sequence_length"}, arguments.sequence, wishes.sequence_length);
  if (!lengths.file.empty()) {
    merge.word({"--memory-pool", "memory_pool"}, lengths.memory_pool, wishes.memory_pool,
               memory_pool_words());
    merge.number({"--max-sequence-length", "max_sequence_length"}, lengths.longest,
                 wishes.max_sequence_length);
  } else if (!wishes.sequence_length) {
    merge.number({"--sequence", "max_sequence_length"}, arguments.sequence,
                 wishes.max_sequence_length);
  }
}

/// "model.layers.3." -> "model.layers.3".
std::string name_of(const Layer& layer) {
  return layer.prefix.ends_with('.') ? layer.prefix.substr(0, layer.prefix.size() - 1)
                                     : layer.prefix;
}

/// Names by layer: every prefix; of a kind that one layer has, the kind's name and its modules'
/// ("model.embed_tokens", "lm_head"), as device maps call them.
std::map<std::string, int> names_of(const Model& model) {
  std::map<std::string, int> names;
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    const auto is_kind = [&](const Layer& layer) { return layer.kind == static_cast<int>(kind); };
    if (std::ranges::count_if(model.layers, is_kind) != 1) continue;
    const auto layer = std::ranges::find_if(model.layers, is_kind);
    const auto index = static_cast<int>(layer - model.layers.begin());
    names[model.kinds[kind].name] = index;
    for (const Parameter& parameter : model.kinds[kind].parameters) {
      const std::string whole = layer->prefix + parameter.name;
      names[whole.substr(0, whole.rfind('.'))] = index;
    }
  }
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const std::string name = name_of(model.layers[layer]);
    if (!name.empty()) names[name] = static_cast<int>(layer);
  }
  return names;
}

/// "3" or "0-3".
std::optional<LayerPin> numbered(const MappedLayer& mapped) {
  const std::size_t dash = mapped.layer.find('-');
  const auto first = to_integer(mapped.layer.substr(0, dash));
  const auto last = dash == std::string::npos ? first : to_integer(mapped.layer.substr(dash + 1));
  constexpr std::int64_t kMost = 1'000'000;
  if (!first || !last || *first < 0 || *last < *first || *last > kMost) return std::nullopt;
  return LayerPin{static_cast<int>(*first), static_cast<int>(*last), mapped.stage};
}

/// "embedding", "model.layers.0 to model.layers.31", "head": kinds of one layer by their name,
/// neighbours of other kinds by the first and the last.
std::vector<std::string> names_in_words(const Model& model) {
  const auto is_alone = [&](const Layer& layer) {
    return std::ranges::count(model.layers, layer.kind, &Layer::kind) == 1;
  };
  std::vector<std::string> words;
  for (auto layer = model.layers.begin(); layer != model.layers.end();) {
    if (is_alone(*layer)) {
      words.push_back(model.kinds[static_cast<std::size_t>(layer->kind)].name);
      ++layer;
      continue;
    }
    const auto end = std::find_if(layer, model.layers.end(), is_alone);
    words.push_back(fmt::format("{} to {}", name_of(*layer), name_of(*std::prev(end))));
    layer = end;
  }
  return words;
}

[[noreturn]] void refuse_layer(const std::string& layer, const std::string& file,
                               const Model& model, const std::map<std::string, int>& names) {
  std::vector<std::string> known;
  for (const auto& [name, at] : names) known.push_back(name);
  const auto near = nearest_word(layer, known);
  const std::string there = fmt::format(
      "{}, or by number 0 to {}", fmt::join(names_in_words(model), ", "), model.layers.size() - 1);
  throw Error(Failure::kBadInput,
              fmt::format("{}: device_map: expected a layer of {}, found '{:.60}'", file,
                          model.name, layer),
              near ? fmt::format("did you mean {}? there are {}", *near, there)
                   : fmt::format("there are {}", there));
}

std::vector<int> layer_counts(const Plan& plan) {
  std::vector<int> counts;
  for (const PlanStage& stage : plan.stages) counts.push_back(stage.layer_count);
  return counts;
}

/// The most that a layer of the plan recomputes.
Recompute most_recompute(const Plan& plan) {
  Recompute most = Recompute::kNone;
  for (const PlanStage& stage : plan.stages) {
    for (const RecomputeRun& run : stage.recompute) most = std::max(most, run.recompute);
  }
  return most;
}

/// Pins how the devices are used. A pipeline alone is asked for without a number of devices.
void pin_layout(const Plan& plan, std::optional<int> device_count, Wishes& wishes) {
  const auto rank_count = static_cast<int>(plan.ranks.size());
  wishes.layers_per_stage = layer_counts(plan);
  wishes.pipeline_parallel_size = rank_count;
  wishes.virtual_pipeline_size = static_cast<int>(plan.stages.size()) / rank_count;
  wishes.devices = device_count;
  if (!device_count) return;
  wishes.tensor_parallel_size = plan.layout.sharding.tensor;
  wishes.data_parallel_size = plan.layout.data_parallel;
  wishes.zero_stage = plan.layout.data_sharding == DataSharding::kNone ? 0 : 1;
}

/// What samples of different lengths were batched with. Padded micro-batches have a size of their
/// own, which micro_batch_size would pin to the plan's.
void pin_batching(const PartitionArguments& arguments, const Batching& batching, Wishes& wishes) {
  const LengthsQuestion& lengths = arguments.lengths;
  wishes.lengths = lengths.file;
  if (!lengths.column.empty()) wishes.lengths_column = lengths.column;
  wishes.max_sequence_length = lengths.longest;
  wishes.sequence_length = arguments.sequence;
  wishes.micro_batch_size = arguments.micro_batch;
  wishes.batching = batching.method;
  wishes.memory_pool = batching.memory_pool;
  wishes.max_tokens = lengths.max_tokens;
}

}  // namespace

void apply_wishes(const Wishes& wishes, const std::string& file, PartitionArguments& arguments) {
  const Merger merge(file);
  std::optional<std::string> devices;
  if (wishes.devices) devices = fmt::to_string(*wishes.devices);
  std::optional<DataSharding> sharding;
  if (wishes.zero_stage) sharding = static_cast<DataSharding>(*wishes.zero_stage);
  merge.text({"--devices", "devices"}, arguments.graph.devices, devices);
  merge.number({"--stages", "pipeline_parallel_size"}, arguments.stages,
               wishes.pipeline_parallel_size);
  merge.number({"--virtual", "virtual_pipeline_size"}, arguments.virtual_count,
               wishes.virtual_pipeline_size);
  merge.number({"--tensor-parallel", "tensor_parallel_size"}, arguments.tensor_parallel,
               wishes.tensor_parallel_size);
  merge.number({"--data-parallel", "data_parallel_size"}, arguments.data_parallel,
               wishes.data_parallel_size);
  merge.word({"--shard", "zero_stage"}, arguments.data_sharding, sharding, kShardWords);
  merge.list({"--layer-counts", "layers_per_stage"}, arguments.layer_counts,
             wishes.layers_per_stage.value_or(std::vector<int>{}));
  merge.list({"--schedule", "schedule"}, arguments.schedules, wishes.schedules);
  merge.number({"--global-batch", "global_batch_size"}, arguments.global_batch,
               wishes.global_batch_size);
  merge.number({"--micro-batch", "micro_batch_size"}, arguments.micro_batch,
               wishes.micro_batch_size);
  merge.word({"--recompute", "activation_checkpointing"}, arguments.recompute,
             wishes.activation_checkpointing, kRecomputeWords);
  merge.number({"--recompute-chunk-size", "recompute_chunk_size"}, arguments.recompute_chunk,
               wishes.recompute_chunk_size);
  merge.size({"--memory", "memory_per_device"}, arguments.memory, wishes.memory_per_device);
  merge.size({"--reserve", "memory_reserve"}, arguments.reserve, wishes.memory_reserve);
  apply_lengths(wishes, merge, arguments);
}

std::vector<LayerPin> pins_of(const Wishes& wishes, const std::string& file, const Model& model) {
  if (wishes.device_map.empty()) return {};
  const std::map<std::string, int> names = names_of(model);
  std::vector<LayerPin> pins;
  for (const MappedLayer& mapped : wishes.device_map) {
    const auto named = names.find(mapped.layer);
    const std::optional<LayerPin> pin = named == names.end()
                                            ? numbered(mapped)
                                            : LayerPin{named->second, named->second, mapped.stage};
    if (!pin || pin->last_layer >= std::ssize(model.layers)) {
      refuse_layer(mapped.layer, file, model, names);
    }
    pins.push_back(*pin);
  }
  return pins;
}

std::string completed_wishes(const Wishes& wishes, const PartitionArguments& arguments,
                             std::optional<int> device_count, const Plan& plan) {
  Wishes completed = wishes;
  pin_layout(plan, device_count, completed);
  completed.schedules = {plan.actions.empty() ? plan.schedule : std::string(planner::kSynthesized)};
  if (arguments.objective != "latency") {
    completed.global_batch_size = plan.constraints.global_batch;
  }
  completed.micro_batch_size = plan.micro_batch;
  completed.sequence_length = plan.constraints.sequence;
  completed.activation_checkpointing = most_recompute(plan);
  completed.recompute_chunk_size = plan.recompute_chunk;
  completed.memory_per_device = plan.constraints.memory;
  if (!arguments.reserve.empty()) {
    completed.memory_reserve = size_of("--reserve", arguments.reserve);
  }
  if (plan.batching) pin_batching(arguments, *plan.batching, completed);
  const std::string& file = arguments.output;
  return fmt::format(
             "# completed by ppplan {} from {}: {}, step {}, profile {:.12}\n", plan.tool_version,
             file.empty() || file == "-" ? "a plan" : MappingWriter::yaml(file),
             MappingWriter::yaml(plan.model.name), human(plan.predicted.step), plan.input_sha256) +
         write_wishes(completed);
}

}  // namespace ppplan::cli
