// ppplan partition: from a profile and limits to a plan.
#include "planner/partition.h"

#include "cli/partition_graph.h"
#include "cli/partition_lengths.h"
#include "cli/shell.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/graph_profile.h"
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"
#include "reports/documents/scalar.h"
#include "reports/render/plan_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace ppplan::cli {
namespace {

struct Arguments {
  std::string profile;
  std::string output;
  std::string memory;
  std::vector<std::string> schedules;
  std::vector<std::string> pins;
  std::vector<int> layer_counts;
  std::optional<int> stages;
  std::optional<int> virtual_count;
  std::optional<std::int64_t> global_batch;
  std::optional<int> micro_batch;
  std::optional<std::int64_t> sequence;
  std::optional<int> tensor_parallel;
  std::optional<int> data_parallel;
  std::string data_sharding;
  std::string recompute;
  std::optional<std::int64_t> recompute_chunk;
  std::string reserve;
  bool forward_only = false;
  std::string objective;
  bool json = false;
  GraphQuestion graph;
  LengthsQuestion lengths;
};

Bytes size_of(const char* flag, const std::string& text) {
  if (const std::optional<Bytes> size = parse_bytes(text)) return *size;
  throw Error(Failure::kBadInput, fmt::format("{}: expected a size, found '{:.60}'", flag, text),
              "give a rank's bytes with their unit, such as 8GiB or 512MiB");
}

template <typename T>
T word_of(const char* flag, const std::string& text, const std::vector<std::string>& words) {
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<T>(found - words.begin());
  throw Error(Failure::kBadInput,
              fmt::format("{}: expected {}, found '{:.60}'", flag, fmt::join(words, ", "), text));
}

int device_count_of(const std::string& text) {
  const std::optional<std::int64_t> count = to_integer(text);
  if (count && *count >= 1 && *count <= 65'536) return static_cast<int>(*count);
  throw Error(Failure::kBadInput,
              fmt::format("--devices: expected a number from 1 to 65536, found '{:.60}'", text),
              "AxB goes with --rules only");
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

void require_inference(const Arguments& arguments) {
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

planner::PartitionOptions options_of(const Arguments& arguments) {
  planner::PartitionOptions options{.stage_count = arguments.stages,
                                    .global_batch = arguments.global_batch.value_or(1),
                                    .micro_batch = arguments.micro_batch,
                                    .sequence = arguments.sequence,
                                    .virtual_count = arguments.virtual_count,
                                    .layer_counts = arguments.layer_counts};
  for (const std::string& pin : arguments.pins) options.pins.push_back(pin_of(pin));
  if (!arguments.memory.empty()) options.memory = size_of("--memory", arguments.memory);
  if (!arguments.reserve.empty()) options.reserve = size_of("--reserve", arguments.reserve);
  if (!arguments.graph.devices.empty()) {
    options.device_count = device_count_of(arguments.graph.devices);
  }
  options.forward_only = arguments.forward_only;
  if (!arguments.objective.empty()) {
    require_inference(arguments);
    // A request's latency is the way of one micro-batch through all stages.
    if (arguments.objective == "latency") options.global_batch = arguments.micro_batch.value_or(1);
  }
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

[[noreturn]] void report_infeasible(const planner::Infeasible& infeasible) {
  throw Error(
      Failure::kNoPlan, infeasible.reason,
      fmt::format("any one of these makes it fit: {}", fmt::join(infeasible.remedies, ", ")));
}

std::string search_in_words(const planner::Planned& planned) {
  const planner::SearchCounts& search = planned.search;
  const std::string looked = fmt::format(
      "{} candidates (stages, micro-batch size, schedule), {} excluded by their bound, {} "
      "cuts simulated",
      search.candidate_count, search.excluded_count, search.simulated_count);
  if (search.proven) return looked + ": no cut of any of them is faster";
  if (search.bound <= Seconds(0)) return looked + ": the best found";
  return fmt::format("{}: the best found, at most {:.1f} % above the best there is", looked,
                     100.0 * (planned.plan.predicted.step / search.bound - 1.0));
}

/// The two questions of this verb have few options in common.
void require_one_question(const Arguments& arguments) {
  if (const char* option = arguments.graph.option_without_rules()) {
    throw Error(Failure::kBadInput, fmt::format("{} needs --rules", option),
                "--rules pipedream or --rules max-load cuts a graph");
  }
  if (const char* option = arguments.lengths.option_without_lengths()) {
    throw Error(Failure::kBadInput, fmt::format("{} needs --lengths", option),
                "give the tokens of the samples, one number a line: --lengths FILE");
  }
  if (arguments.profile == "-" && arguments.lengths.file == "-") {
    throw Error(Failure::kBadInput, "--lengths -: the profile is read from standard input already",
                "give one of them as a file");
  }
  if (arguments.graph.rules.empty()) {
    if (arguments.global_batch || arguments.objective == "latency") return;
    throw Error(Failure::kBadInput, "--global-batch is required",
                "give the samples of one step, such as --global-batch 64");
  }
  const bool plan_option =
      arguments.global_batch || arguments.stages || arguments.micro_batch || arguments.sequence ||
      arguments.virtual_count || !arguments.schedules.empty() || !arguments.pins.empty() ||
      !arguments.layer_counts.empty() || !arguments.output.empty() ||
      !arguments.lengths.file.empty() || arguments.tensor_parallel || arguments.data_parallel ||
      !arguments.data_sharding.empty() || !arguments.recompute.empty() ||
      arguments.recompute_chunk || !arguments.reserve.empty();
  if (!plan_option) return;
  throw Error(Failure::kBadInput,
              "--rules goes with --devices, --bandwidth, --memory, --cpus, --no-replication and "
              "--json only",
              "a cut of a graph is no plan that can be run: --json prints it for other programs");
}

void run(const Arguments& arguments, Shell& shell) {
  require_one_question(arguments);
  if (arguments.output == "-" && arguments.json) {
    throw Error(Failure::kBadInput, "--json and -o - both write to standard output",
                "give the plan a file: -o plan.yaml");
  }
  const std::string text = read_file(arguments.profile);
  if (!arguments.graph.rules.empty()) {
    std::optional<Bytes> memory;
    if (!arguments.memory.empty()) memory = size_of("--memory", arguments.memory);
    return partition_graph(text, arguments.profile, arguments.graph, memory, arguments.json, shell);
  }
  if (is_graph_profile(text)) {
    throw Error(Failure::kBadInput, fmt::format("{}: a graph needs --rules", arguments.profile),
                "give --rules pipedream or --rules max-load");
  }
  const Profile profile = read_profile(text, arguments.profile);
  std::error_code absent;
  if (std::filesystem::equivalent(arguments.profile, arguments.output, absent)) {
    throw Error(Failure::kBadInput,
                fmt::format("-o {}: that is the profile itself", arguments.output),
                "give the plan a name of its own: -o plan.yaml");
  }
  const std::optional<SampleLengths> samples = read_samples(arguments.lengths);
  std::optional<OutputFile> output;
  if (!arguments.output.empty()) output.emplace(arguments.output);
  planner::PartitionOptions options = options_of(arguments);
  if (samples && !options.sequence) options.sequence = samples->planned_sequence(profile);
  auto answer = planner::partition(profile, options);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&answer)) {
    report_infeasible(*infeasible);
  }
  auto planned = std::get<planner::Planned>(std::move(answer));
  if (!profile.cluster && planned.plan.ranks.size() > profile.devices.size()) {
    shell.progress()->note(
        fmt::format("note: the profile has {} devices; further ranks are taken to be like its last",
                    profile.devices.size()));
  }
  if (samples) plan_batching(planned, profile, *samples, arguments.lengths);
  planned.plan.tool_version = PPPLAN_VERSION;
  planned.plan.input_sha256 = sha256(text);
  if (output) output->commit(write_plan(planned.plan));
  if (arguments.output == "-") return;
  const render::PlanView view{.plan = &planned.plan,
                              .schedule = &planned.schedule,
                              .timeline = &planned.timeline,
                              .allowed = planned.allowed,
                              .search = search_in_words(planned)};
  const auto style = shell.colored_output() ? render::Style::kColored : render::Style::kPlain;
  print(arguments.json ? render::plan_json(view) : render::plan_text(view, {.style = style}));
}

}  // namespace

void add_partition(CLI::App& app, Shell& shell) {
  CLI::App* verb = app.add_subcommand(
      "partition", "Find the split, micro-batch size and schedule with the shortest step");
  const auto arguments = std::make_shared<Arguments>();
  verb->add_option("profile", arguments->profile,
                   "profile.yaml of 'ppplan profile' or of 'ppplan import'; - is standard input")
      ->option_text("PROFILE")
      ->required();
  verb->add_option("--global-batch", arguments->global_batch, "Samples of one step")
      ->option_text("B REQUIRED without --rules");
  verb->add_option("--stages", arguments->stages,
                   "Devices in the pipeline, with one stage each or what --virtual or the schedule "
                   "gives them; not given: the best number")
      ->option_text("P");
  verb->add_option("--virtual", arguments->virtual_count,
                   "Stages a device, for schedules with several; not given: 2 for these")
      ->option_text("V");
  verb->add_option("--pin", arguments->pins,
                   "Put a layer, or layers A-B, into this stage (counted from 0); may be repeated")
      ->option_text("LAYER=STAGE");
  verb->add_option("--layer-counts", arguments->layer_counts,
                   "Layers of each stage, such as 3,4,3: the split itself")
      ->delimiter(',')
      ->option_text("N,N,...");
  verb->add_option("--micro-batch", arguments->micro_batch,
                   "Samples of a micro-batch; not given: the best of the measured range")
      ->option_text("b");
  verb->add_option("--sequence", arguments->sequence,
                   "Tokens of a sample; not given: the longest measured")
      ->option_text("S");
  verb->add_option("--memory", arguments->memory,
                   "What one rank may use; not given: its device's memory in the profile")
      ->option_text("SIZE");
  verb->add_option("--reserve", arguments->reserve,
                   "Of that, keep so much free on every rank: fragmentation, libraries")
      ->option_text("SIZE");
  verb->add_flag("--forward-only", arguments->forward_only,
                 "Plan inference: no backward, parameters alone in memory");
  verb->add_option("--objective", arguments->objective,
                   "With --forward-only: throughput of a batch [default], or latency of one "
                   "micro-batch")
      ->option_text("WHAT");
  verb->add_option("--tensor-parallel", arguments->tensor_parallel,
                   "Devices that share each layer; not given: every degree the profile has")
      ->option_text("T");
  verb->add_option("--data-parallel", arguments->data_parallel,
                   "Pipelines side by side; not given: as many as there are devices for")
      ->option_text("D");
  verb->add_option("--shard", arguments->data_sharding,
                   "Divide among pipelines: none, or the optimizer; not given: the better one")
      ->option_text("WHAT");
  verb->add_option("--recompute", arguments->recompute,
                   "The most a layer may recompute: none, selective (attention), full [full]")
      ->option_text("WHAT");
  verb->add_option("--recompute-chunk-size", arguments->recompute_chunk,
                   "Tokens a piece of recomputing; 0: all at once; not given: the best")
      ->option_text("TOKENS");
  verb->add_option("--schedule", arguments->schedules,
                   "Allow this schedule only, or 'synthesized': an order made for the plan's own "
                   "times; may be repeated. Not given: 1f1b, gpipe, naive; of many devices 1f1b, "
                   "interleaved-1f1b")
      ->option_text("NAME");
  verb->add_option("-o,--output", arguments->output, "Write the plan here; - is standard output")
      ->option_text("PLAN");
  verb->add_flag("--json", arguments->json, "The plan's figures as JSON");
  add_lengths_options(*verb, arguments->lengths);
  add_graph_options(*verb, arguments->graph);
  verb->callback([arguments, &shell] { run(*arguments, shell); });
}

}  // namespace ppplan::cli
