#include "planner/question.h"

#include "planner/schedule/generators.h"
#include "reports/documents/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

namespace ppplan::planner {
namespace {

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw Error(Failure::kBadInput, message, hint);
}

void check_rank_count(const Profile& profile, int count, const std::string& flag) {
  const auto layer_count = static_cast<int>(profile.model.layers.size());
  if (count < 1) refuse(fmt::format("{}: must be at least 1", flag), "");
  if (count > layer_count) {
    refuse(fmt::format("{}: the model has only {} layers", flag, layer_count),
           fmt::format("ask for at most {} stages", layer_count));
  }
  if (count > 1 && profile.links.empty()) {
    refuse(fmt::format("{}: the profile has no link between two ranks", flag),
           "profile with at least two workers, so that transfers are measured");
  }
}

/// Layer counts, one a stage, fix the number of ranks but for how many stages each has.
std::vector<int> counted_ranks(const Profile& profile, const PartitionOptions& options) {
  const auto stage_count = static_cast<int>(options.layer_counts.size());
  const std::string flag = fmt::format("--layer-counts {}", fmt::join(options.layer_counts, ","));
  std::vector<int> counts{stage_count};
  if (options.virtual_count) {
    counts = {stage_count / *options.virtual_count};
  } else if (stage_count % 2 == 0) {
    counts = {stage_count / 2, stage_count};
  }
  for (const int count : counts) check_rank_count(profile, count, flag);
  return counts;
}

std::vector<int> rank_counts(const Profile& profile, const PartitionOptions& options) {
  if (options.stage_count) {
    check_rank_count(profile, *options.stage_count,
                     fmt::format("--stages {}", *options.stage_count));
    return {*options.stage_count};
  }
  if (!options.layer_counts.empty()) return counted_ranks(profile, options);
  const auto layer_count = static_cast<int>(profile.model.layers.size());
  const auto device_count = static_cast<int>(profile.devices.size());
  const int most = profile.links.empty() ? 1 : std::min(device_count, layer_count);
  std::vector<int> counts(static_cast<std::size_t>(std::max(1, most)));
  std::iota(counts.begin(), counts.end(), 1);
  return counts;
}

/// make_schedule knows the names and what a mistyped one may have meant.
void check_schedules(const std::vector<std::string>& schedules) {
  if (schedules.empty()) refuse("no schedule is allowed", "leave --schedule away to compare all");
  for (const std::string& name : schedules) {
    if (name != kSynthesized) make_schedule(name, ScheduleShape{});
  }
}

std::vector<std::string> named_only(std::vector<std::string> schedules) {
  std::erase(schedules, kSynthesized);
  return schedules;
}

/// With one stage a rank, naive holds least; with several, both placements.
std::vector<std::string> drafts(const PartitionOptions& options) {
  if (std::ranges::find(options.schedules, kSynthesized) == options.schedules.end()) return {};
  const int virtual_count = options.virtual_count.value_or(1);
  if (virtual_count == 1) return {"1f1b", "zb-h1", "zb-h2", "naive"};
  std::vector<std::string> names{"interleaved-1f1b", "interleaved-zero-bubble", "looped-bfs"};
  if (virtual_count == 2) names.insert(names.end(), {"zb-v", "v-half", "v-min", "dualpipe-v"});
  return names;
}

void check_virtual(const Profile& profile, const PartitionOptions& options) {
  if (!options.virtual_count) return;
  const int count = *options.virtual_count;
  if (count < 1) {
    refuse(fmt::format("--virtual {}: must be at least 1", count),
           "give the number of stages on each rank");
  }
  if (count > std::ssize(profile.model.layers)) {
    refuse(fmt::format("--virtual {}: the model has only {} layers", count,
                       profile.model.layers.size()),
           "ask for fewer stages a rank");
  }
}

void check_batch(const PartitionOptions& options) {
  if (options.global_batch < 1) {
    refuse(fmt::format("--global-batch {}: must be at least 1", options.global_batch), "");
  }
  if (!options.micro_batch) return;
  const int size = *options.micro_batch;
  if (size < 1) refuse(fmt::format("--micro-batch {}: must be at least 1", size), "");
  if (size > options.global_batch) {
    refuse(fmt::format("--micro-batch {} is larger than --global-batch {}", size,
                       options.global_batch),
           fmt::format("ask for micro-batches of at most {}", options.global_batch));
  }
}

bool too_long(std::int64_t global_batch, int micro_batch, int stage_count) {
  const std::int64_t micro_batch_count = (global_batch + micro_batch - 1) / micro_batch;
  return micro_batch_count > kPlannedActionLimit / (2 * stage_count);
}

/// Sizes to try, or Error when there is none.
std::vector<int> micro_batch_sizes(const Question& question, const IntegerRange& measured,
                                   int stage_count) {
  const std::string range = measured.least == measured.most
                                ? fmt::format("only {}", measured.least)
                                : fmt::format("{} to {}", measured.least, measured.most);
  if (measured.least > measured.most) {
    refuse("the profile has no micro-batch size that was measured for every kind of layer",
           "profile the model again");
  }
  const std::string measure_more = "measure more: ppplan profile ... --micro-batches SIZES";
  IntegerRange sizes{measured.least, std::min(measured.most, question.global_batch)};
  if (question.micro_batch) {
    const int size = *question.micro_batch;
    if (size < measured.least || size > measured.most) {
      refuse(fmt::format("--micro-batch {} is outside what the profile measured: {}", size, range),
             measure_more);
    }
    sizes = {size, size};
  }
  if (sizes.least > sizes.most) {
    refuse(fmt::format("--global-batch {} is smaller than every measured micro-batch ({})",
                       question.global_batch, range),
           measure_more);
  }
  std::vector<int> usable;
  bool any_short_enough = false;
  for (auto size = static_cast<int>(sizes.least); size <= sizes.most; ++size) {
    if (too_long(question.global_batch, size, stage_count)) continue;
    any_short_enough = true;
    const std::int64_t rest = question.global_batch % size;
    if (rest == 0 || rest >= measured.least) usable.push_back(size);
  }
  if (!any_short_enough) {
    refuse(fmt::format("--global-batch {} in micro-batches of at most {} makes too long a schedule "
                       "on {} stages: more than {} actions",
                       question.global_batch, sizes.most, stage_count, kPlannedActionLimit),
           "ask for a smaller batch, or measure larger micro-batches");
  }
  if (usable.empty()) {
    refuse(fmt::format("--global-batch {} leaves a last micro-batch smaller than the smallest "
                       "measured ({})",
                       question.global_batch, measured.least),
           measure_more);
  }
  return usable;
}

}  // namespace

Question ask(const Profile& profile, const PartitionOptions& options) {
  if (profile.model.layers.empty()) refuse("the profile's model has no layers", "");
  check_batch(options);
  check_schedules(options.schedules);
  check_virtual(profile, options);
  if (options.memory && options.memory->count < 1) {
    refuse("--memory: must be more than 0", "give a rank's limit, such as --memory 8GiB");
  }
  const std::vector<std::int64_t> sequences = measured_sequences(profile);
  if (sequences.empty()) refuse("the profile has no measurements", "profile the model again");
  if (options.sequence && *options.sequence < 1) {
    refuse(fmt::format("--sequence {}: must be at least 1", *options.sequence), "");
  }
  if (!options.memory && profile.devices.empty()) {
    refuse("the profile has no devices, and no memory limit is given", "add --memory SIZE");
  }
  return {.profile = &profile,
          .rank_counts = rank_counts(profile, options),
          .virtual_count = options.virtual_count,
          .global_batch = options.global_batch,
          .micro_batch = options.micro_batch,
          .sequence = options.sequence.value_or(sequences.back()),
          .memory = options.memory,
          .schedules = named_only(options.schedules),
          .drafts = drafts(options),
          .pins = options.pins,
          .layer_counts = options.layer_counts};
}

std::vector<Bytes> allowed_memory(const Question& question, int rank_count) {
  std::vector<Bytes> allowed;
  for (int rank = 0; rank < rank_count; ++rank) {
    if (question.memory) {
      allowed.push_back(*question.memory);
    } else {
      const std::vector<Device>& devices = question.profile->devices;
      allowed.push_back(
          devices[std::min(static_cast<std::size_t>(rank), devices.size() - 1)].memory);
    }
  }
  return allowed;
}

std::vector<std::shared_ptr<const CostBasis>> cost_bases(const Question& question, int rank_count) {
  const Profile& profile = *question.profile;
  const CostTable costs(profile, question.sequence, rank_count);
  std::vector<std::shared_ptr<const CostBasis>> bases;
  for (const int size : micro_batch_sizes(question, costs.micro_batches(),
                                          rank_count * question.virtual_count.value_or(1))) {
    const BatchSplit batch = split_batch(question.global_batch, size);
    bases.push_back(std::make_shared<const CostBasis>(CostBasis{
        batch, ChainCosts(profile, costs, batch), profile.call_overhead, profile.step_overhead}));
  }
  return bases;
}

namespace {

/// A schedule that serves the shape and has the stages that are asked for.
Schedule fitting_schedule(const Question& question, const std::string& name,
                          const ScheduleShape& shape) {
  const auto layer_count = static_cast<int>(question.profile->model.layers.size());
  const std::string hint = "allow another schedule: 1f1b serves every shape";
  auto made = make_schedule(name, shape);
  if (const auto* refusal = std::get_if<Unschedulable>(&made)) {
    refuse(fmt::format("--schedule {}: {}", name, refusal->reason), hint);
  }
  Schedule& schedule = std::get<Schedule>(made);
  const int stages_a_rank = schedule.stage_count() / shape.rank_count;
  if (question.virtual_count && stages_a_rank != shape.virtual_count) {
    refuse(fmt::format("--virtual {}: {} has {} a rank", shape.virtual_count, name,
                       stages_a_rank == 1 ? "one stage" : fmt::format("{} stages", stages_a_rank)),
           "allow a schedule of any number of stages a rank: interleaved-1f1b, looped-bfs");
  }
  if (schedule.stage_count() > layer_count) {
    refuse(fmt::format("--schedule {}: {} stages on each of {} ranks need {} layers, the model has "
                       "only {}",
                       name, stages_a_rank, shape.rank_count, schedule.stage_count(), layer_count),
           hint);
  }
  return std::move(schedule);
}

}  // namespace

Offer offer(const Question& question, const std::shared_ptr<const CostBasis>& basis,
            int rank_count) {
  Offer offer;
  const ScheduleShape shape{.rank_count = rank_count,
                            .micro_batch_count = basis->batch.micro_batch_count(),
                            .virtual_count = question.virtual_count.value_or(2)};
  for (const std::string& name : question.schedules) {
    try {
      Schedule schedule = fitting_schedule(question, name, shape);
      CutLimits limits = cut_limits(question.pins, question.layer_counts,
                                    basis->chain.layer_count(), schedule.stage_count());
      offer.candidates.emplace_back(basis, std::move(schedule),
                                    allowed_memory(question, rank_count), std::move(limits));
    } catch (const Error& refusal) {
      offer.refusal = refusal;  // another schedule may serve
    }
  }
  return offer;
}

Seconds cheap_bound(const CostBasis& basis, int rank_count) {
  const ChainCosts& chain = basis.chain;
  const int layers = chain.layer_count();
  Seconds work{0};
  Seconds through{0};
  for (int index = 0; index < chain.class_count(); ++index) {
    const int count = index == 0 ? basis.batch.micro_batch_count() - basis.batch.last_class() : 1;
    const Seconds calls = 2.0 * rank_count * basis.call_overhead;
    const Seconds forward = chain.forward(0, layers, index);
    work += (forward + chain.least_backward(0, layers, index) + calls) * count;
    const Seconds down =
        std::min(chain.backward(0, layers, index), chain.backward_input(0, layers, index));
    const Seconds hops = 2.0 * (rank_count - 1) * chain.least_transfer(index);
    through = std::max(through, forward + down + calls + hops);
  }
  return std::max(work / rank_count, through) + basis.step_overhead;
}

}  // namespace ppplan::planner
