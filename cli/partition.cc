// ppplan partition: from a profile and limits to a plan.
#include "planner/partition.h"

#include "cli/partition_graph.h"
#include "cli/partition_lengths.h"
#include "cli/partition_options.h"
#include "cli/partition_sweep.h"
#include "cli/partition_wishes.h"
#include "cli/shell.h"
#include "planner/utilization.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/graph_profile.h"
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"
#include "reports/documents/wishes.h"
#include "reports/render/plan_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace ppplan::cli {
namespace {

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

/// What the profile has to be for the options.
Profile profile_of(const std::string& text, const PartitionArguments& arguments) {
  if (is_graph_profile(text)) {
    throw Error(Failure::kBadInput, fmt::format("{}: a graph needs --rules", arguments.profile),
                "give --rules pipedream or --rules max-load");
  }
  return read_profile(text, arguments.profile);
}

/// Refuses to write over what is read, and reserves the place of an output.
std::optional<OutputFile> output_of(const char* option, const std::string& path,
                                    const PartitionArguments& arguments) {
  if (path.empty()) return std::nullopt;
  std::error_code absent;
  if (std::filesystem::equivalent(arguments.profile, path, absent)) {
    throw Error(Failure::kBadInput, fmt::format("{} {}: that is the profile itself", option, path),
                fmt::format("give it a name of its own: {} {}", option,
                            option == std::string_view("-o") ? "plan.yaml" : "wishes.yaml"));
  }
  return std::make_optional<OutputFile>(path);
}

void note_further_ranks(const Plan& plan, const Profile& profile, Shell& shell) {
  if (profile.cluster || plan.ranks.size() <= profile.devices.size()) return;
  shell.progress()->note(
      fmt::format("note: the profile has {} devices; further ranks are taken to be like its last",
                  profile.devices.size()));
}

planner::Planned plan_of(const Profile& profile, const planner::PartitionOptions& options) {
  auto answer = planner::partition(profile, options);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&answer)) {
    report_infeasible(*infeasible);
  }
  auto planned = std::get<planner::Planned>(std::move(answer));
  planner::set_utilization(
      planned.plan, profile,
      flops_per_token(profile.model, options, planned.plan.constraints.sequence));
  return planned;
}

void show(const planner::Planned& planned, const PartitionArguments& arguments,
          const Shell& shell) {
  const render::PlanView view{.plan = &planned.plan,
                              .schedule = &planned.schedule,
                              .timeline = &planned.timeline,
                              .allowed = planned.allowed,
                              .rivals = {.plan = &planned.plan,
                                         .own = planner::as_rival(planned.plan),
                                         .price = arguments.price},
                              .search = search_in_words(planned)};
  const auto style = shell.colored_output() ? render::Style::kColored : render::Style::kPlain;
  print(arguments.json ? render::plan_json(view) : render::plan_text(view, {.style = style}));
}

/// `wishes`: of --config, already in the arguments but for the device map.
void plan(const PartitionArguments& arguments, const Wishes& wishes, const std::string& text,
          Shell& shell) {
  const Profile profile = profile_of(text, arguments);
  const std::optional<SampleLengths> samples = read_samples(arguments.lengths);
  planner::PartitionOptions options = options_of(arguments);
  const std::vector<LayerPin> mapped = pins_of(wishes, arguments.config, profile.model);
  options.pins.insert(options.pins.end(), mapped.begin(), mapped.end());
  if (!arguments.sweep.empty()) return sweep_devices(profile, options, arguments, shell);
  std::optional<OutputFile> output = output_of("-o", arguments.output, arguments);
  std::optional<OutputFile> completed =
      output_of("--write-config", arguments.written_config, arguments);
  if (samples && !options.sequence) options.sequence = samples->planned_sequence(profile);
  planner::Planned planned = plan_of(profile, options);
  note_further_ranks(planned.plan, profile, shell);
  if (samples) plan_batching(planned, profile, *samples, arguments.lengths);
  planned.plan.tool_version = PPPLAN_VERSION;
  planned.plan.input_sha256 = sha256(text);
  if (output) output->commit(write_plan(planned.plan));
  if (completed) {
    std::optional<int> device_count = options.device_count;
    if (!device_count && profile.cluster) device_count = profile.cluster->device_count();
    completed->commit(completed_wishes(wishes, arguments, device_count, planned.plan));
  }
  if (arguments.output != "-" && arguments.written_config != "-") show(planned, arguments, shell);
}

void run(PartitionArguments arguments, Shell& shell) {
  check_sources(arguments);
  Wishes wishes;
  if (!arguments.config.empty()) {
    wishes = load_wishes(arguments.config);
    apply_wishes(wishes, arguments.config, arguments);
  }
  check_arguments(arguments);
  const std::string text = read_file(arguments.profile);
  if (arguments.graph.rules.empty()) return plan(arguments, wishes, text, shell);
  std::optional<Bytes> memory;
  if (!arguments.memory.empty()) memory = size_of("--memory", arguments.memory);
  partition_graph(text, arguments.profile, arguments.graph, memory, arguments.json, shell);
}

}  // namespace

void add_partition(CLI::App& app, Shell& shell) {
  CLI::App* verb = app.add_subcommand(
      "partition", "Find the split, micro-batch size and schedule with the shortest step");
  const auto arguments = std::make_shared<PartitionArguments>();
  add_partition_options(*verb, *arguments);
  verb->callback([arguments, &shell] { run(*arguments, shell); });
}

}  // namespace ppplan::cli
