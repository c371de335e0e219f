// ppplan schedule: prints, draws and measures a named schedule, or one from a file.
#include "cli/shell.h"
#include "planner/schedule/analysis.h"
#include "planner/schedule/blocking.h"
#include "planner/schedule/generators.h"
#include "planner/schedule/lowering.h"
#include "planner/schedule/simulator.h"
#include "planner/schedule/text.h"
#include "planner/schedule/walk.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/json_writer.h"
#include "reports/render/table.h"
#include "reports/render/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ppplan::cli {
namespace {

using namespace planner;

struct ScheduleOptions {
  std::string name;
  std::string csv_in;
  std::optional<int> ranks;
  std::optional<int> micro_batches;
  std::optional<int> virtual_count;
  std::optional<int> group;
  std::string times = "1,1,1";
  std::string transfer = "0";
  bool json = false;
  bool csv = false;
};

/// Whether the schedule runs with blocking sends in one order of its transfers.
struct BlockingAnswer {
  std::string key;    ///< in JSON
  std::string order;  ///< in words
  std::optional<ScheduleFault> fault;
};

/// Everything the verb tells of a schedule.
struct Measured {
  Timeline timeline;
  BubbleCauses causes;
  Seconds period{0};
  std::vector<Seconds> exposed;   ///< by rank
  std::vector<double> in_flight;  ///< by rank, in micro-batches of a rank's whole share
  std::vector<int> sends;         ///< by rank
  std::vector<std::vector<HeldStep>> held;
  std::vector<BlockingAnswer> blocking;
};

/// `count` times separated by commas: finite, not negative. Empty when the text is anything else.
std::vector<Seconds> parse_times(std::string_view text, std::size_t count) {
  constexpr double kMost_s = 1e12;
  std::vector<Seconds> times;
  const char* const end = text.data() + text.size();
  bool whole = false;
  for (const char* at = text.data(); !whole && times.size() < count; ++at) {
    double time_s = -1.0;
    const auto [next, error] = std::from_chars(at, end, time_s);
    if (error != std::errc() || !(time_s >= 0.0 && time_s <= kMost_s)) return {};
    times.emplace_back(time_s);
    at = next;
    whole = at == end;
    if (!whole && *at != ',') return {};
  }
  return times.size() == count && whole ? times : std::vector<Seconds>{};
}

RankTimes rank_times(const ScheduleOptions& options) {
  const std::vector<Seconds> times = parse_times(options.times, 3);
  if (times.empty() || times[0] + times[1] + times[2] <= Seconds(0)) {
    throw Error(
        Failure::kBadInput,
        fmt::format("--times: expected three times in seconds, found '{:.60}'", options.times),
        "give forward, input-gradient and weight-gradient time: --times 1,1,1");
  }
  const std::vector<Seconds> transfer = parse_times(options.transfer, 1);
  if (transfer.empty()) {
    throw Error(
        Failure::kBadInput,
        fmt::format("--transfer: expected a time in seconds, found '{:.60}'", options.transfer),
        "give seconds: --transfer 0.05");
  }
  return {times[0], times[1], times[2], transfer[0]};
}

Schedule make_named(const ScheduleOptions& options, Progress& progress) {
  const bool loops = options.name.starts_with("interleaved") || options.name.starts_with("looped");
  auto made =
      make_schedule(options.name, {.rank_count = *options.ranks,
                                   .micro_batch_count = *options.micro_batches,
                                   .virtual_count = options.virtual_count.value_or(loops ? 2 : 1),
                                   .micro_batch_group = options.group});
  if (const Unschedulable* refusal = std::get_if<Unschedulable>(&made)) {
    throw Error(Failure::kBadInput, fmt::format("{}: {}", options.name, refusal->reason),
                "change --micro-batches, --virtual or --group");
  }
  Schedule schedule = std::get<Schedule>(std::move(made));
  const int virtual_count = schedule.stage_count() / schedule.rank_count();
  if (options.virtual_count && *options.virtual_count != virtual_count) {
    progress.note(fmt::format("note: {} has {} stage{} a rank; --virtual is not used", options.name,
                              virtual_count, virtual_count == 1 ? "" : "s"));
  }
  if (options.group && !options.name.starts_with("interleaved")) {
    progress.note(
        fmt::format("note: {} has no micro-batch groups; --group is not used", options.name));
  }
  return schedule;
}

/// Sends by rank; with_communication would list them, but a count needs no list.
std::vector<int> count_sends(const Schedule& schedule) {
  std::vector<int> sends(schedule.ranks.size(), 0);
  const auto rank_of = [&](int stage) {
    return schedule.rank_of_stage[static_cast<std::size_t>(stage)];
  };
  for (int stage = 0; stage + 1 < schedule.stage_count(); ++stage) {
    if (rank_of(stage) == rank_of(stage + 1)) continue;
    for (const int rank : {rank_of(stage), rank_of(stage + 1)}) {
      sends[static_cast<std::size_t>(rank)] += schedule.micro_batch_count;
    }
  }
  return sends;
}

std::vector<int> count_stages(const Schedule& schedule) {
  std::vector<int> stages_of_rank(schedule.ranks.size(), 0);
  for (const int rank : schedule.rank_of_stage) ++stages_of_rank[static_cast<std::size_t>(rank)];
  return stages_of_rank;
}

std::vector<BlockingAnswer> answer_blocking(const Schedule& schedule) {
  const auto as_written = check_blocking_sends(schedule, Exchanges::kAsWritten);
  const auto even_odd = check_blocking_sends(schedule, Exchanges::kEvenOdd);
  if (has_communication(schedule)) {
    return {{"as_written", "as written", as_written}, {"even_odd", "even/odd", even_odd}};
  }
  return {{"ordered", "as ppplan orders them",
           check_blocking_sends(with_communication(schedule), Exchanges::kAsWritten)},
          {"as_written", "beside their actions", as_written},
          {"even_odd", "even/odd", even_odd}};
}

Measured measure(const Schedule& schedule, const RankTimes& times) {
  const ScheduleCosts costs = uniform_costs(schedule, times);
  Measured measured;
  measured.blocking = answer_blocking(schedule);
  measured.timeline = simulate(schedule, costs);
  measured.causes = bubble_causes(schedule, costs, measured.timeline);
  measured.period = steady_period(schedule, costs);
  measured.exposed = exposed_communication(schedule, measured.timeline);
  measured.sends = count_sends(schedule);
  const std::vector<int> stages_of_rank = count_stages(schedule);
  measured.held = in_flight_timeline(schedule, measured.timeline);
  const std::vector<RankMemory> peaks = memory_peaks(schedule, costs);
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    measured.in_flight.push_back(static_cast<double>(peaks[rank].in_flight) / stages_of_rank[rank]);
  }
  return measured;
}

void write_blocking(JsonWriter& json, const std::vector<BlockingAnswer>& answers) {
  json.key("blocking_sends").begin_object();
  for (const auto& [key, order, fault] : answers) {
    json.key(key).begin_object().member("runs", !fault);
    if (fault) json.member("reason", fault->message);
    json.end_object();
  }
  json.end_object();
}

/// By rank the moments at which the number of held activations changes, and what it becomes.
void write_held(JsonWriter& json, const Schedule& schedule, const Measured& measured) {
  const std::vector<int> stages_of_rank = count_stages(schedule);
  json.key("in_flight_timeline").begin_array();
  for (std::size_t rank = 0; rank < measured.held.size(); ++rank) {
    std::vector<Seconds> times;
    std::vector<double> levels;
    for (const auto& [from, in_flight] : measured.held[rank]) {
      times.push_back(from);
      levels.push_back(static_cast<double>(in_flight) / stages_of_rank[rank]);
    }
    json.begin_object().member("time_s", times).member("in_flight", levels).end_object();
  }
  json.end_array();
}

std::string to_json(const Schedule& schedule, const Measured& measured) {
  const Timeline& timeline = measured.timeline;
  JsonWriter json;
  json.begin_object()
      .member("schedule", schedule.name)
      .member("ranks", schedule.rank_count())
      .member("micro_batches", schedule.micro_batch_count)
      .member("stages", schedule.stage_count())
      .member("rank_of_stage", schedule.rank_of_stage)
      .member("makespan_s", timeline.makespan)
      .member("bubble", timeline.bubble())
      .member("steady_period_s", measured.period);
  json.key("bubble_causes_s")
      .begin_object()
      .member("fill", measured.causes.fill)
      .member("drain", measured.causes.drain)
      .member("imbalance", measured.causes.imbalance)
      .member("transfer", measured.causes.transfer)
      .end_object();
  json.member("in_flight", measured.in_flight)
      .member("sends", measured.sends)
      .member("busy_s", timeline.busy)
      .member("exposed_communication_s", measured.exposed);
  write_held(json, schedule, measured);
  write_blocking(json, measured.blocking);
  json.key("order").begin_array();
  for (const std::string& line : to_lines(schedule)) json.value(line);
  return json.end_array().end_object().take();
}

/// A line of cells; of a long one its beginning and its end.
std::string shortened(const std::string& line) {
  constexpr std::size_t kMostCharacters = 400;
  constexpr std::size_t kHead = 280;
  constexpr std::size_t kTail = 80;
  if (line.size() <= kMostCharacters) return line;
  return line.substr(0, line.rfind(',', kHead)) + ", … " +
         line.substr(line.find(',', line.size() - kTail) + 1);
}

/// Each rank's actions; of a long order only the ends.
std::string order_text(const Schedule& schedule) {
  constexpr std::size_t kMostRanks = 32;
  std::string text;
  const std::vector<std::string> lines = to_lines(schedule);
  const std::size_t shown = std::min(lines.size(), kMostRanks);
  bool whole = lines.size() == shown;
  for (std::size_t rank = 0; rank < shown; ++rank) {
    const std::string line = shortened(lines[rank]);
    whole = whole && line.size() == lines[rank].size();
    text += fmt::format("rank {}: {}\n", rank, line);
  }
  if (lines.size() > shown) text += fmt::format("… {} more ranks\n", lines.size() - shown);
  return whole ? text : text + "(--csv prints every action)\n";
}

/// "blocking sends run as ppplan orders them (beside their actions: deadlock, even/odd: run)"
std::string blocking_text(const std::vector<BlockingAnswer>& answers) {
  const auto outcome = [](const BlockingAnswer& answer) {
    return answer.fault ? "deadlock" : "run";
  };
  std::string others;
  for (const BlockingAnswer& answer : answers | std::views::drop(1)) {
    others += fmt::format("{}{}: {}", others.empty() ? "" : ", ", answer.order, outcome(answer));
  }
  return fmt::format("blocking sends {} {} ({})\n", outcome(answers.front()), answers.front().order,
                     others);
}

std::string to_text(const Schedule& schedule, const Measured& measured,
                    const render::TableOptions& options) {
  const Timeline& timeline = measured.timeline;
  const Seconds rank_time = timeline.makespan * schedule.rank_count();
  const auto share = [&](Seconds time) { return 100.0 * (time / rank_time); };
  render::Table table(
      {{"rank"}, {"busy"}, {"waits"}, {"of it for transfers"}, {"in flight"}, {"sends"}});
  constexpr std::size_t kMostRows = 32;
  for (std::size_t rank = 0; rank < std::min(timeline.busy.size(), kMostRows); ++rank) {
    table.row({std::to_string(rank), ppplan::human(timeline.busy[rank]),
               ppplan::human(timeline.makespan - timeline.busy[rank]),
               ppplan::human(measured.exposed[rank]),
               fmt::format("{:.4g}", measured.in_flight[rank]),
               std::to_string(measured.sends[rank])});
  }
  std::string text =
      fmt::format("{}: {} ranks, {} stages, {} micro-batches\n\n", schedule.name,
                  schedule.rank_count(), schedule.stage_count(), schedule.micro_batch_count);
  text += order_text(schedule) + '\n';
  text +=
      render::timeline_text(schedule, timeline, {.width = options.width, .style = options.style}) +
      '\n';
  text += table.text(options);
  if (timeline.busy.size() > kMostRows) {
    text += fmt::format("… {} more ranks (--json has all)\n", timeline.busy.size() - kMostRows);
  }
  text += '\n';
  text += fmt::format("makespan_s {:.6g}\n", timeline.makespan.count());
  text += fmt::format(
      "bubble {:.4f} of rank-time: fill {:.1f} %, drain {:.1f} %, imbalance {:.1f} %, transfers "
      "{:.1f} %\n",
      timeline.bubble(), share(measured.causes.fill), share(measured.causes.drain),
      share(measured.causes.imbalance), share(measured.causes.transfer));
  text += fmt::format("steady_period_s {:.6g} (steps back to back, no barrier between them)\n",
                      measured.period.count());
  text += blocking_text(measured.blocking);
  return text;
}

void require_one_source(const ScheduleOptions& options) {
  const bool named = !options.name.empty();
  if (named == !options.csv_in.empty()) {
    throw Error(Failure::kBadInput,
                named ? "a schedule's name and --csv-in exclude each other"
                      : "expected a schedule's name or --csv-in FILE",
                fmt::format("schedules are {}", fmt::join(schedule_names(), ", ")));
  }
  if (named && !(options.ranks && options.micro_batches)) {
    throw Error(
        Failure::kBadInput, "expected --ranks and --micro-batches",
        fmt::format("for instance: ppplan schedule {} --ranks 4 --micro-batches 8", options.name));
  }
  if (!named &&
      (options.ranks || options.micro_batches || options.virtual_count || options.group)) {
    throw Error(Failure::kBadInput,
                "--ranks, --micro-batches, --virtual and --group do not go with --csv-in",
                "the file says them all");
  }
  if (options.json && options.csv) {
    throw Error(Failure::kBadInput, "--json and --csv exclude each other", "choose one");
  }
}

void run(const ScheduleOptions& options, Shell& shell) {
  require_one_source(options);
  const RankTimes times = rank_times(options);
  const std::unique_ptr<Progress> progress = shell.progress();
  const Schedule schedule = options.csv_in.empty()
                                ? make_named(options, *progress)
                                : from_csv(read_file(options.csv_in), options.csv_in);
  if (options.csv) return print(to_csv(schedule));
  const Measured measured = measure(schedule, times);
  if (options.json) return print(to_json(schedule, measured));
  print(to_text(schedule, measured, shell.table_options()));
}

}  // namespace

void add_schedule(CLI::App& app, Shell& shell) {
  CLI::App* verb = app.add_subcommand("schedule", "Print, draw and measure a pipeline schedule");
  const auto options = std::make_shared<ScheduleOptions>();
  verb->add_option("name", options->name,
                   fmt::format("One of {}", fmt::join(schedule_names(), ", ")))
      ->option_text("NAME");
  verb->add_option("--ranks", options->ranks, "Ranks (pipeline devices)")->option_text("P");
  verb->add_option("--micro-batches", options->micro_batches, "Micro-batches of a step")
      ->option_text("M");
  verb->add_option("--virtual", options->virtual_count,
                   "Stages a rank, where the schedule leaves the choice (interleaved: 2)")
      ->option_text("V");
  verb->add_option(
          "--group", options->group,
          "Micro-batches that an interleaved schedule runs through a stage before the next")
      ->option_text("G");
  verb->add_option(
          "--times", options->times,
          "Forward, input-gradient and weight-gradient time of a rank's whole share, seconds")
      ->option_text("F,I,W");
  verb->add_option("--transfer", options->transfer, "Transfer of a tensor to another rank, seconds")
      ->option_text("T");
  verb->add_option("--csv-in", options->csv_in,
                   "Check, draw and measure this schedule: PyTorch's CSV, a line a rank")
      ->option_text("FILE");
  verb->add_flag("--json", options->json, "Figures and order as JSON");
  verb->add_flag("--csv", options->csv, "The order alone, as PyTorch's CSV");
  verb->callback([options, &shell] { run(*options, shell); });
}

}  // namespace ppplan::cli
