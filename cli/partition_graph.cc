#include "cli/partition_graph.h"

#include "cli/graph_view.h"
#include "planner/graph/max_load.h"
#include "planner/graph/pipedream.h"
#include "profiler/import/import.h"
#include "reports/documents/error.h"
#include "reports/documents/scalar.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace ppplan::cli {
namespace {

constexpr int kMostDevices = 65'536;

/// A question with its words read.
struct ReadQuestion {
  Rules rules = Rules::kMaxLoad;
  std::vector<int> devices;  ///< by level; empty: not given
  std::vector<BytesPerSecond> bandwidths;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw Error(Failure::kBadInput, message, hint);
}

std::vector<int> read_devices(const std::string& text) {
  std::vector<int> devices;
  std::int64_t total = 1;
  for (const std::string_view part : split(text, 'x')) {
    const std::optional<std::int64_t> count = to_integer(part);
    if (!count || *count < 1 || *count > kMostDevices || (total *= *count) > kMostDevices) {
      refuse(fmt::format("--devices: expected counts from 1 to {} in all, found '{:.40}'",
                         kMostDevices, text),
             "give 16, or the devices of a machine and the machines: 8x4");
    }
    devices.push_back(static_cast<int>(*count));
  }
  return devices;
}

std::vector<BytesPerSecond> read_bandwidths(const std::string& text) {
  constexpr double kLeast = 1.0;
  constexpr double kMost = 1e18;
  std::vector<BytesPerSecond> bandwidths;
  for (const std::string_view part : split(text, ',')) {
    const std::optional<double> rate = to_number(part);
    if (!rate || *rate < kLeast || *rate > kMost) {
      refuse(
          fmt::format("--bandwidth: expected bytes a second from 1 to 1e18, found '{:.40}'", text),
          "give 1e9, or one number a level of --devices: 1.2e10,1.25e9");
    }
    bandwidths.push_back({*rate});
  }
  return bandwidths;
}

ReadQuestion read_question(const GraphQuestion& question) {
  ReadQuestion read;
  if (question.rules == "pipedream") {
    read.rules = Rules::kPipeDream;
  } else if (question.rules != "max-load") {
    refuse(fmt::format("--rules: expected pipedream or max-load, found '{:.40}'", question.rules),
           "pipedream replicates stages; max-load balances devices, CPUs among them");
  }
  if (!question.devices.empty()) read.devices = read_devices(question.devices);
  if (!question.bandwidth.empty()) read.bandwidths = read_bandwidths(question.bandwidth);
  return read;
}

GraphProfile read_graph(const std::string& text, const std::string& file, Progress& progress) {
  if (is_graph_profile(text)) return read_graph_profile(text, file);
  if (text.starts_with("schema:")) {
    refuse(fmt::format("{}: expected a graph, found another document", file),
           "--rules is for graphs: see 'ppplan import --help'");
  }
  profiler::ImportedGraph imported = profiler::import_graph(text, file);
  for (const std::string& note : imported.notes) progress.note(note);
  return std::move(imported.profile);
}

/// What a rule found, and on what, in words.
struct Found {
  planner::GraphAnswer answer;
  std::string machine;
};

Found find_max_load(const GraphProfile& profile, const GraphQuestion& question,
                    const ReadQuestion& read, std::optional<Bytes> memory) {
  if (read.devices.size() > 1 || read.bandwidths.size() > 1) {
    refuse("max-load: expected one number for --devices and for --bandwidth", "give --devices 6");
  }
  if (question.no_replication) {
    refuse("--no-replication does not go with --rules max-load", "max-load never replicates");
  }
  if (read.devices.empty() && !profile.machine) {
    refuse("the file names no number of accelerators", "give --devices 6");
  }
  planner::MaxLoadOptions options;
  if (profile.machine) {
    options.accelerators = profile.machine->accelerators;
    options.cpus = profile.machine->cpus;
    options.memory = profile.machine->memory;
  }
  if (!read.devices.empty()) options.accelerators = read.devices.front();
  if (!read.bandwidths.empty()) options.bandwidth = read.bandwidths.front();
  if (question.cpus) options.cpus = *question.cpus;
  if (memory) options.memory = memory;
  return {planner::cut_max_load(profile, options),
          fmt::format("{} accelerators{} and {} CPUs", options.accelerators,
                      options.memory ? " of " + ppplan::human(*options.memory) : "", options.cpus)};
}

Found find_pipedream(const GraphProfile& profile, const GraphQuestion& question,
                     const ReadQuestion& read, std::optional<Bytes> memory) {
  if (read.devices.empty()) refuse("expected --devices", "for instance --devices 16, or 8x4");
  if (read.devices.size() > 2) {
    refuse("--devices: expected one or two levels, found more",
           "give the devices of a machine and the machines: 8x4");
  }
  if (question.cpus) refuse("--cpus does not go with --rules pipedream", "leave it out");
  const bool one_for_all = read.bandwidths.empty();
  if (!one_for_all && read.bandwidths.size() != read.devices.size()) {
    refuse(fmt::format("--bandwidth: expected {} for --devices {}, found {}",
                       read.devices.size() == 1 ? "one number" : "two numbers", question.devices,
                       read.bandwidths.size()),
           "one number a level, the inside of a machine first");
  }
  planner::PipeDreamOptions options;
  for (std::size_t level = 0; level < read.devices.size(); ++level) {
    planner::PipeDreamLevel& made = options.levels.emplace_back();
    made.units = read.devices[level];
    if (!one_for_all) made.bandwidth = read.bandwidths[level];
  }
  const planner::PipeDreamLevel& inside = options.levels.front();
  std::string machine =
      fmt::format("{} devices at {}", inside.units, ppplan::human(inside.bandwidth));
  if (options.levels.size() == 2) {
    const planner::PipeDreamLevel& across = options.levels.back();
    machine = fmt::format("{} machines at {}, each of {}", across.units,
                          ppplan::human(across.bandwidth), machine);
  }
  options.memory = memory;
  if (question.no_replication) options.replication = planner::Replication::kNone;
  return {planner::cut_pipedream(profile, options), machine};
}

}  // namespace

const char* GraphQuestion::option_without_rules() const {
  if (!rules.empty()) return nullptr;
  if (!bandwidth.empty()) return "--bandwidth";
  if (cpus) return "--cpus";
  return no_replication ? "--no-replication" : nullptr;
}

void add_graph_options(CLI::App& verb, GraphQuestion& question) {
  verb.add_option("--rules", question.rules,
                  "Cut a graph (of 'ppplan import') as this planner would: pipedream, max-load")
      ->option_text("RULES");
  verb.add_option("--devices", question.devices,
                  "Devices in all, over every layout; not given: the profile's cluster, or one "
                  "pipeline. With --rules: devices, or AxB for A in each of B machines")
      ->option_text("N");
  verb.add_option("--bandwidth", question.bandwidth,
                  "With --rules: bytes a second between devices; A,B inside and between machines")
      ->option_text("B");
  verb.add_option("--cpus", question.cpus, "With --rules max-load: CPUs; not given: the file's")
      ->option_text("N")
      ->check(CLI::Range(0, kMostDevices));
  verb.add_flag("--no-replication", question.no_replication,
                "With --rules pipedream: every stage on one device");
}

void partition_graph(const std::string& text, const std::string& file,
                     const GraphQuestion& question, std::optional<Bytes> memory, bool json,
                     Shell& shell) {
  const ReadQuestion read = read_question(question);
  const GraphProfile profile = read_graph(text, file, *shell.progress());
  const auto start = std::chrono::steady_clock::now();
  const Found found = read.rules == Rules::kMaxLoad
                          ? find_max_load(profile, question, read, memory)
                          : find_pipedream(profile, question, read, memory);
  const Seconds taken = std::chrono::steady_clock::now() - start;
  if (found.answer.stages.empty()) {
    throw Error(Failure::kNoPlan, found.answer.why_none,
                "give more memory (--memory) or more devices (--devices)");
  }
  const GraphView view{.rules = read.rules,
                       .profile = profile,
                       .answer = found.answer,
                       .machine = found.machine,
                       .search_time = taken};
  print(json ? graph_json(view) : graph_text(view, shell.table_options()));
}

}  // namespace ppplan::cli
