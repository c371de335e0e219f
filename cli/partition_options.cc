#include "cli/partition_options.h"

#include "profiler/models/counts.h"
#include "reports/documents/error.h"
#include "reports/documents/plan.h"
#include "reports/documents/scalar.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace ppplan::cli {
namespace {

template <typename T>
T word_of(const char* flag, const std::string& text, const std::vector<std::string>& words) {
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<T>(found - words.begin());
  throw Error(Failure::kBadInput,
              fmt::format("{}: expected {}, found '{:.60}'", flag, fmt::join(words, ", "), text));
}

/// "7=1" or "0-3=0".
LayerPin pin_of(const std::string& text) {
  LayerPin pin;
  const char* const end = text.data() + text.size();
  const auto number = [&](const char*& at, int& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    const bool read = error == std::errc() && at != end && *at != '-';
    at = next;
    return read;
  };
  const auto skip = [&](const char*& at, char letter) { return at != end && *at++ == letter; };
  const char* at = text.data();
  bool right = number(at, pin.first_layer);
  pin.last_layer = pin.first_layer;
  if (right && at != end && *at == '-') right = skip(at, '-') && number(at, pin.last_layer);
  right = right && skip(at, '=') && number(at, pin.stage) && at == end;
  if (right) return pin;
  throw Error(Failure::kBadInput,
              fmt::format("--pin: expected LAYER=STAGE or FIRST-LAST=STAGE, found '{:.60}'", text),
              "layers and stages count from 0: --pin 0-3=0");
}

void require_inference(const PartitionArguments& arguments) {
  if (arguments.objective.empty()) return;
  word_of<int>("--objective", arguments.objective, {"throughput", "latency"});
  if (!arguments.forward_only) {
    throw Error(Failure::kBadInput, "--objective needs --forward-only",
                "training has one objective: the shortest step");
  }
  if (arguments.objective == "latency" && arguments.global_batch) {
    throw Error(Failure::kBadInput, "--objective latency and --global-batch contradict each other",
                "latency is that of one micro-batch: give --micro-batch");
  }
}

/// The two questions of this verb have few options in common.
void require_one_question(const PartitionArguments& arguments) {
  if (const char* option = arguments.graph.option_without_rules()) {
    throw Error(Failure::kBadInput, fmt::format("{} needs --rules", option),
                "--rules pipedream or --rules max-load cuts a graph");
  }
  if (const char* option = arguments.lengths.option_without_lengths()) {
    throw Error(Failure::kBadInput, fmt::format("{} needs --lengths", option),
                "give the tokens of the samples, one number a line: --lengths FILE");
  }
  if (arguments.graph.rules.empty()) {
    if (arguments.global_batch || arguments.objective == "latency") return;
    throw Error(Failure::kBadInput, "--global-batch is required",
                "give the samples of one step, such as --global-batch 64");
  }
  const bool plan_option =
      arguments.global_batch || arguments.stages || arguments.micro_batch || arguments.sequence ||
      arguments.virtual_count || !arguments.schedules.empty() || !arguments.pins.empty() ||
      !arguments.layer_counts.empty() || !arguments.device_order.empty() ||
      !arguments.output.empty() || !arguments.lengths.file.empty() || arguments.tensor_parallel ||
      arguments.data_parallel || !arguments.data_sharding.empty() || !arguments.recompute.empty() ||
      arguments.recompute_chunk || !arguments.reserve.empty() || !arguments.config.empty() ||
      !arguments.written_config.empty() || arguments.price || !arguments.sweep.empty();
  if (!plan_option) return;
  throw Error(Failure::kBadInput,
              "--rules goes with --devices, --bandwidth, --memory, --cpus, --no-replication and "
              "--json only",
              "a cut of a graph is no plan that can be run: --json prints it for other programs");
}

/// What a sweep plans is shown, not kept.
void require_sweep_alone(const PartitionArguments& arguments) {
  if (arguments.sweep.empty()) return;
  const auto refuse = [](const char* option, const char* hint) {
    throw Error(Failure::kBadInput, fmt::format("--sweep-devices does not go with {}", option),
                hint);
  };
  const char* const one_plan = "plan the number of devices that you choose: --devices N";
  if (!arguments.graph.devices.empty()) refuse("--devices", "give one of them");
  if (!arguments.output.empty()) refuse("-o", one_plan);
  if (!arguments.written_config.empty()) refuse("--write-config", one_plan);
  if (!arguments.lengths.file.empty()) refuse("--lengths", one_plan);
}

}  // namespace

Bytes size_of(const char* flag, const std::string& text) {
  if (const std::optional<Bytes> size = parse_bytes(text)) return *size;
  throw Error(Failure::kBadInput, fmt::format("{}: expected a size, found '{:.60}'", flag, text),
              "give a rank's bytes with their unit, such as 8GiB or 512MiB");
}

int device_count_of(const std::string& text) {
  const std::optional<std::int64_t> count = to_integer(text);
  if (count && *count >= 1 && *count <= 65'536) return static_cast<int>(*count);
  throw Error(Failure::kBadInput,
              fmt::format("--devices: expected a number from 1 to 65536, found '{:.60}'", text),
              "AxB goes with --rules only");
}

void check_sources(const PartitionArguments& arguments) {
  const std::vector<std::pair<const char*, const std::string*>> sources = {
      {"the profile", &arguments.profile},
      {"--config", &arguments.config},
      {"--lengths", &arguments.lengths.file}};
  const char* first = nullptr;
  for (const auto& [name, path] : sources) {
    if (*path != "-") continue;
    if (first != nullptr) {
      throw Error(Failure::kBadInput,
                  fmt::format("{} -: {} is read from standard input already", name, first),
                  "give one of them as a file");
    }
    first = name;
  }
}

void check_arguments(const PartitionArguments& arguments) {
  check_sources(arguments);
  require_one_question(arguments);
  require_sweep_alone(arguments);
  require_inference(arguments);
  const bool writes_config = arguments.written_config == "-";
  if ((arguments.output == "-" || writes_config) && arguments.json) {
    throw Error(Failure::kBadInput,
                fmt::format("--json and {} - both write to standard output",
                            writes_config ? "--write-config" : "-o"),
                writes_config ? "give the wishes a file: --write-config wishes.yaml"
                              : "give the plan a file: -o plan.yaml");
  }
  if (arguments.output == "-" && writes_config) {
    throw Error(Failure::kBadInput, "-o - and --write-config - both write to standard output",
                "give the plan a file: -o plan.yaml");
  }
  if (arguments.price && !(*arguments.price >= 0.0 && *arguments.price <= 1e6)) {
    throw Error(Failure::kBadInput,
                fmt::format("--price {}: expected 0 to 1000000", *arguments.price),
                "give the dollars of one device for an hour, such as --price 2.50");
  }
}

planner::PartitionOptions options_of(const PartitionArguments& arguments) {
  planner::PartitionOptions options{.stage_count = arguments.stages,
                                    .global_batch = arguments.global_batch.value_or(1),
                                    .micro_batch = arguments.micro_batch,
                                    .sequence = arguments.sequence,
                                    .virtual_count = arguments.virtual_count,
                                    .layer_counts = arguments.layer_counts,
                                    .device_order = arguments.device_order};
  for (const std::string& pin : arguments.pins) options.pins.push_back(pin_of(pin));
  if (!arguments.memory.empty()) options.memory = size_of("--memory", arguments.memory);
  if (!arguments.reserve.empty()) options.reserve = size_of("--reserve", arguments.reserve);
  if (!arguments.graph.devices.empty()) {
    options.device_count = device_count_of(arguments.graph.devices);
  }
  options.forward_only = arguments.forward_only;
  // A request's latency is the way of one micro-batch through all stages.
  if (arguments.objective == "latency") options.global_batch = arguments.micro_batch.value_or(1);
  options.tensor_parallel = arguments.tensor_parallel;
  options.data_parallel = arguments.data_parallel;
  options.recompute_chunk = arguments.recompute_chunk;
  if (!arguments.data_sharding.empty()) {
    options.data_sharding =
        word_of<DataSharding>("--shard", arguments.data_sharding, {"none", "optimizer"});
  }
  if (!arguments.recompute.empty()) {
    options.recompute =
        word_of<Recompute>("--recompute", arguments.recompute, {"none", "selective", "full"});
  }
  options.schedules = arguments.schedules;
  return options;
}

void add_partition_options(CLI::App& verb, PartitionArguments& arguments) {
  verb.add_option("profile", arguments.profile,
                  "profile.yaml of 'ppplan profile' or of 'ppplan import'; - is standard input")
      ->option_text("PROFILE")
      ->required();
  verb.add_option("--global-batch", arguments.global_batch, "Samples of one step")
      ->option_text("B REQUIRED without --rules");
  verb.add_option("--stages", arguments.stages,
                  "Devices in the pipeline, with one stage each or what --virtual or the schedule "
                  "gives them; not given: the best number")
      ->option_text("P");
  verb.add_option("--virtual", arguments.virtual_count,
                  "Stages a device, for schedules with several; not given: 2 for these")
      ->option_text("V");
  verb.add_option("--pin", arguments.pins,
                  "Put a layer, or layers A-B, into this stage (counted from 0); may be repeated")
      ->option_text("LAYER=STAGE");
  verb.add_option("--device-order", arguments.device_order,
                  "Which of the profile's devices each rank is, counted from 0, such as 2,0,1; not "
                  "given: the best where devices differ")
      ->delimiter(',')
      ->option_text("D,D,...");
  verb.add_option("--layer-counts", arguments.layer_counts,
                  "Layers of each stage, such as 3,4,3: the split itself")
      ->delimiter(',')
      ->option_text("N,N,...");
  verb.add_option("--micro-batch", arguments.micro_batch,
                  "Samples of a micro-batch; not given: the best of the measured range")
      ->option_text("b");
  verb.add_option("--sequence", arguments.sequence,
                  "Tokens of a sample; not given: the longest measured")
      ->option_text("S");
  verb.add_option("--memory", arguments.memory,
                  "What one rank may use; not given: its device's memory in the profile")
      ->option_text("SIZE");
  verb.add_option("--reserve", arguments.reserve,
                  "Of that, keep so much free on every rank: fragmentation, libraries")
      ->option_text("SIZE");
  verb.add_flag("--forward-only", arguments.forward_only,
                "Plan inference: no backward, parameters alone in memory");
  verb.add_option("--objective", arguments.objective,
                  "With --forward-only: throughput of a batch [default], or latency of one "
                  "micro-batch")
      ->option_text("WHAT");
  verb.add_option("--tensor-parallel", arguments.tensor_parallel,
                  "Devices that share each layer; not given: every degree the profile has")
      ->option_text("T");
  verb.add_option("--data-parallel", arguments.data_parallel,
                  "Pipelines side by side; not given: as many as there are devices for")
      ->option_text("D");
  verb.add_option("--shard", arguments.data_sharding,
                  "Divide among pipelines: none, or the optimizer; not given: the better one")
      ->option_text("WHAT");
  verb.add_option("--recompute", arguments.recompute,
                  "The most a layer may recompute: none, selective (attention), full [full]")
      ->option_text("WHAT");
  verb.add_option("--recompute-chunk-size", arguments.recompute_chunk,
                  "Tokens a piece of recomputing; 0: all at once; not given: the best")
      ->option_text("TOKENS");
  verb.add_option("--schedule", arguments.schedules,
                  "Allow this schedule only, or 'synthesized': an order made for the plan's own "
                  "times; may be repeated. Not given: 1f1b, gpipe, naive; of many devices 1f1b, "
                  "interleaved-1f1b")
      ->option_text("NAME");
  verb.add_option("-o,--output", arguments.output, "Write the plan here; - is standard output")
      ->option_text("PLAN");
  verb.add_flag("--json", arguments.json, "The plan's figures as JSON");
  verb.add_option(
          "--config", arguments.config,
          "A YAML of wishes, such as pipeline_parallel_size: 4; what it leaves out or calls "
          "auto is the planner's choice")
      ->option_text("FILE");
  verb.add_option("--write-config", arguments.written_config,
                  "Write the wishes here, completed with what the planner chose; - is standard "
                  "output")
      ->option_text("FILE");
  verb.add_option("--price", arguments.price,
                  "Dollars of one device for an hour: tells what a billion tokens cost")
      ->option_text("DOLLARS");
  verb.add_option(
          "--sweep-devices", arguments.sweep,
          "The best plan of each number of devices: A..B, powers of two between; or N,N,...")
      ->option_text("RANGE");
  add_lengths_options(verb, arguments.lengths);
  add_graph_options(verb, arguments.graph);
}

double flops_per_token(const Model& model, const planner::PartitionOptions& options,
                       std::int64_t sequence) {
  constexpr double kForwardShare = 1.0 / 3.0;  // counts.h
  const double training =
      profiler::count_model(model, {.sequence = sequence}).training_flops_per_token;
  return options.forward_only ? training * kForwardShare : training;
}

}  // namespace ppplan::cli
