#include "planner/question.h"

#include "planner/schedule/generators.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

namespace ppplan::planner {
namespace {

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw Error(Failure::kBadInput, message, hint);
}

std::vector<int> stage_counts(const Profile& profile, const PartitionOptions& options) {
  const auto layer_count = static_cast<int>(profile.model.layers.size());
  const auto device_count = static_cast<int>(profile.devices.size());
  if (!options.stage_count) {
    const int most = profile.links.empty() ? 1 : std::min(device_count, layer_count);
    std::vector<int> counts(static_cast<std::size_t>(std::max(1, most)));
    std::iota(counts.begin(), counts.end(), 1);
    return counts;
  }
  const int count = *options.stage_count;
  if (count < 1) refuse(fmt::format("--stages {}: must be at least 1", count), "");
  if (count > layer_count) {
    refuse(fmt::format("--stages {}: the model has only {} layers", count, layer_count),
           fmt::format("ask for at most {} stages", layer_count));
  }
  if (count > 1 && profile.links.empty()) {
    refuse(fmt::format("--stages {}: the profile has no link between two ranks", count),
           "profile with at least two workers, so that transfers are measured");
  }
  return {count};
}

/// make_schedule knows the names and what a mistyped one may have meant.
void check_schedules(const std::vector<std::string>& schedules) {
  if (schedules.empty()) refuse("no schedule is allowed", "leave --schedule away to compare all");
  for (const std::string& name : schedules) make_schedule(name, ScheduleShape{});
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
          .stage_counts = stage_counts(profile, options),
          .global_batch = options.global_batch,
          .micro_batch = options.micro_batch,
          .sequence = options.sequence.value_or(sequences.back()),
          .memory = options.memory,
          .schedules = options.schedules};
}

std::vector<Bytes> allowed_memory(const Question& question, int stage_count) {
  std::vector<Bytes> allowed;
  for (int rank = 0; rank < stage_count; ++rank) {
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

std::vector<std::shared_ptr<const CostBasis>> cost_bases(const Question& question,
                                                         int stage_count) {
  const Profile& profile = *question.profile;
  const CostTable costs(profile, question.sequence, stage_count);
  std::vector<std::shared_ptr<const CostBasis>> bases;
  for (const int size : micro_batch_sizes(question, costs.micro_batches(), stage_count)) {
    const BatchSplit batch = split_batch(question.global_batch, size);
    bases.push_back(std::make_shared<const CostBasis>(CostBasis{
        batch, ChainCosts(profile, costs, batch), profile.call_overhead, profile.step_overhead}));
  }
  return bases;
}

std::vector<Candidate> candidates(const Question& question,
                                  const std::shared_ptr<const CostBasis>& basis, int stage_count) {
  std::vector<Candidate> made;
  std::string reason;
  for (const std::string& name : question.schedules) {
    const int micro_batch_count = basis->batch.micro_batch_count();
    auto schedule =
        make_schedule(name, {.rank_count = stage_count, .micro_batch_count = micro_batch_count});
    if (const auto* refusal = std::get_if<Unschedulable>(&schedule)) {
      reason = fmt::format("{}: {}", name, refusal->reason);
      continue;
    }
    auto& legal = std::get<Schedule>(schedule);
    if (legal.stage_count() != stage_count) {
      reason = fmt::format("{} needs {} stages a rank, and plans have one", name,
                           legal.stage_count() / stage_count);
      continue;
    }
    made.emplace_back(basis, std::move(legal), allowed_memory(question, stage_count));
  }
  if (made.empty()) {
    refuse(fmt::format("--schedule {}", reason), "allow another schedule: 1f1b serves every shape");
  }
  return made;
}

Seconds cheap_bound(const CostBasis& basis, int stage_count) {
  const ChainCosts& chain = basis.chain;
  const int layers = chain.layer_count();
  Seconds work{0};
  Seconds through{0};
  for (int index = 0; index < chain.class_count(); ++index) {
    const int count = index == 0 ? basis.batch.micro_batch_count() - basis.batch.last_class() : 1;
    const Seconds calls = 2.0 * stage_count * basis.call_overhead;
    const Seconds forward = chain.forward(0, layers, index);
    work += (forward + chain.least_backward(0, layers, index) + calls) * count;
    const Seconds down =
        std::min(chain.backward(0, layers, index), chain.backward_input(0, layers, index));
    const Seconds hops = 2.0 * (stage_count - 1) * chain.least_transfer(index);
    through = std::max(through, forward + down + calls + hops);
  }
  return std::max(work / stage_count, through) + basis.step_overhead;
}

}  // namespace ppplan::planner
