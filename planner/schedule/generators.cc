#include "planner/schedule/generators.h"

#include "planner/schedule/generators/catalogue.h"
#include "reports/documents/error.h"
#include "reports/documents/excerpt.h"
#include "reports/documents/node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

namespace ppplan::planner {
namespace {

using Made = std::variant<Schedule, Unschedulable>;

struct Generator {
  std::string name;
  Made (*make)(const ScheduleShape&);
};

/// Lets a generator that serves every shape stand in the table.
template <Schedule (*Make)(const ScheduleShape&)>
Made always(const ScheduleShape& shape) {
  return Make(shape);
}

const std::vector<Generator>& generators() {
  static const std::vector<Generator> table = {
      {"naive", always<naive>},
      {"gpipe", always<gpipe>},
      {"1f1b", always<one_forward_one_backward>},
      {"interleaved-1f1b", interleaved_1f1b},
      {"looped-bfs", always<looped_breadth_first>},
      {"zb-h1", always<zero_bubble_h1>},
      {"zb-h2", always<zero_bubble_h2>},
      {"interleaved-zero-bubble", interleaved_zero_bubble},
      {"zb-v", zero_bubble_v},
      {"v-half", always<v_half>},
      {"v-min", always<v_min>},
      {"dualpipe-v", dualpipe_v},
  };
  return table;
}

void require_shape(std::string_view name, const ScheduleShape& shape) {
  const auto positive = [](std::string_view what, int count) {
    if (count < 1) {
      throw Error(Failure::kBadInput, fmt::format("{} must be at least 1, found {}", what, count),
                  "count ranks, micro-batches and stages from 1");
    }
  };
  positive("number of ranks", shape.rank_count);
  positive("number of micro-batches", shape.micro_batch_count);
  positive("number of virtual stages a rank", shape.virtual_count);
  if (shape.micro_batch_group) positive("micro-batch group", *shape.micro_batch_group);
  if (shape.rank_count > kMaxRankCount) {
    throw Error(Failure::kBadInput,
                fmt::format("expected at most {} ranks, found {}", kMaxRankCount, shape.rank_count),
                "a pipeline of so many ranks would hardly ever be full");
  }
  // Three actions, (forward, input, weight), of each stage and micro-batch; no product overflows.
  const std::int64_t stage_count =
      std::int64_t{shape.rank_count} * std::max(shape.virtual_count, 2);
  const std::int64_t most_micro_batches = kMaxActionCount / 3 / stage_count;
  if (shape.micro_batch_count > most_micro_batches) {
    const std::string virtual_stages =
        shape.virtual_count == 1 ? std::string()
                                 : fmt::format(", {} virtual stages a rank", shape.virtual_count);
    throw Error(
        Failure::kBadInput,
        fmt::format("{} of {} ranks{} and {} micro-batches may have more than {} million actions",
                    name, shape.rank_count, virtual_stages, shape.micro_batch_count,
                    kMaxActionCount / 1'000'000),
        most_micro_batches == 0
            ? "ask for fewer ranks or virtual stages"
            : fmt::format("ask for at most {} micro-batches: the pattern repeats",
                          most_micro_batches));
  }
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace

Schedule empty_schedule(const std::string& name, const ScheduleShape& shape, int virtual_count,
                        Placement placement) {
  Schedule schedule;
  schedule.name = name;
  schedule.micro_batch_count = shape.micro_batch_count;
  schedule.ranks.resize(static_cast<std::size_t>(shape.rank_count));
  for (int chunk = 0; chunk < virtual_count; ++chunk) {
    for (int step = 0; step < shape.rank_count; ++step) {
      const bool upwards = placement == Placement::kV && chunk % 2 == 1;
      schedule.rank_of_stage.push_back(upwards ? shape.rank_count - 1 - step : step);
    }
  }
  return schedule;
}

Schedule keep_micro_batches(Schedule schedule, int micro_batch_count) {
  const auto surplus = [&](const Action& action) {
    return action.micro_batch >= micro_batch_count;
  };
  for (std::vector<Action>& actions : schedule.ranks) {
    for (std::size_t position = 0; position + 1 < actions.size(); ++position) {
      actions[position].overlapped &= !surplus(actions[position + 1]);
    }
    std::erase_if(actions, surplus);
  }
  schedule.micro_batch_count = micro_batch_count;
  return schedule;
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> listed;
    for (const Generator& generator : generators()) listed.push_back(generator.name);
    return listed;
  }();
  return names;
}

Made make_schedule(std::string_view name, const ScheduleShape& shape) {
  if (name == kForwardOnly) {
    require_shape(name, shape);
    return forward_only(shape);
  }
  const auto generator = std::ranges::find(generators(), name, &Generator::name);
  if (generator == generators().end()) {
    const std::string lower = lower_case(name);  // "1F1B" is "1f1b"
    const bool known = std::ranges::find(schedule_names(), lower) != schedule_names().end();
    const std::optional<std::string> near = known ? lower : nearest_word(lower, schedule_names());
    throw Error(Failure::kBadInput, fmt::format("unknown schedule '{}'", excerpt(name)),
                fmt::format("{}schedules are {}",
                            near ? fmt::format("did you mean '{}'? ", *near) : std::string(),
                            fmt::join(schedule_names(), ", ")));
  }
  require_shape(name, shape);
  return generator->make(shape);
}

}  // namespace ppplan::planner
