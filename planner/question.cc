#include "planner/question.h"

#include "planner/schedule/generators.h"
#include "reports/documents/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <set>
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
  for (const std::string& name : schedules) {
    if (name != kSynthesized) make_schedule(name, ScheduleShape{});
  }
}

/// The schedules asked for, or what serves such a question.
std::vector<std::string> allowed_schedules(const Profile& profile,
                                           const PartitionOptions& options) {
  if (options.forward_only) return {std::string(kForwardOnly)};
  if (!options.schedules.empty()) return options.schedules;
  if (options.virtual_count.value_or(1) > 1) return {"interleaved-1f1b", "looped-bfs"};
  if (options.device_count || profile.cluster) {
    return options.virtual_count ? std::vector<std::string>{"1f1b"}
                                 : std::vector<std::string>{"1f1b", "interleaved-1f1b"};
  }
  return {"1f1b", "gpipe", "naive"};
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

/// The shardings with rows for every kind of layer that the model uses, smallest first.
std::vector<Sharding> shardings_of(const Profile& profile) {
  std::set<int> kinds;
  for (const Layer& layer : profile.model.layers) kinds.insert(layer.kind);
  std::map<Sharding, std::set<int>> covered;
  for (const Measurement& row : profile.measurements) {
    if (row.recompute == Recompute::kNone) covered[row.sharding].insert(row.kind);
  }
  std::vector<Sharding> shardings;
  for (const auto& [sharding, has] : covered) {
    if (std::ranges::includes(has, kinds)) shardings.push_back(sharding);
  }
  return shardings;
}

/// The largest number of pipelines up to `most` that the batch can be dealt out to.
std::int64_t most_pipelines(std::int64_t global_batch, std::int64_t most) {
  std::int64_t count = std::min(most, global_batch);
  while (global_batch % count != 0) --count;
  return count;
}

bool differ(const std::vector<Device>& devices) {
  return std::ranges::any_of(devices, [&](const Device& device) {
    return device.memory != devices.front().memory || device.speed != devices.front().speed;
  });
}

/// Every way, up to kMostOrders, to put ranks on devices of a profile that are not alike: devices
/// of one class are interchangeable. Beyond: classes one after the other in every order.
std::vector<std::vector<int>> device_orders(const std::vector<Device>& devices, int rank_count) {
  constexpr std::size_t kMostOrders = 2'000;
  using Class = std::pair<double, std::int64_t>;
  std::map<Class, std::vector<int>> classes;
  for (std::size_t at = 0; at < devices.size(); ++at) {
    classes[{-devices[at].speed, -devices[at].memory.count}].push_back(static_cast<int>(at));
  }
  std::vector<std::vector<int>> pools;
  for (auto& [name, members] : classes) pools.push_back(members);
  std::vector<std::vector<int>> orders;
  std::vector<int> order;
  std::vector<std::size_t> used(pools.size(), 0);
  const auto extend = [&](const auto& self) -> void {
    if (orders.size() > kMostOrders) return;
    if (std::ssize(order) == rank_count) {
      orders.push_back(order);
      return;
    }
    for (std::size_t pool = 0; pool < pools.size(); ++pool) {
      if (used[pool] == pools[pool].size()) continue;
      order.push_back(pools[pool][used[pool]++]);
      self(self);
      order.pop_back();
      --used[pool];
    }
  };
  extend(extend);
  if (orders.size() <= kMostOrders) return orders;
  orders.clear();
  std::vector<std::size_t> sequence(pools.size());
  std::iota(sequence.begin(), sequence.end(), std::size_t{0});
  do {
    order.clear();
    for (const std::size_t pool : sequence) {
      for (const int device : pools[pool]) {
        if (std::ssize(order) < rank_count) order.push_back(device);
      }
    }
    if (std::ranges::find(orders, order) == orders.end()) orders.push_back(order);
  } while (orders.size() < kMostOrders && std::ranges::next_permutation(sequence).found);
  return orders;
}

/// The devices that were asked for, a rank each.
PipelineShape ordered_pipeline(const Profile& profile, const PartitionOptions& options) {
  const std::string flag = fmt::format("--device-order {}", fmt::join(options.device_order, ","));
  const auto count = static_cast<int>(options.device_order.size());
  const auto device_count = static_cast<int>(profile.devices.size());
  check_rank_count(profile, count, flag);
  if (options.stage_count && *options.stage_count != count) {
    refuse(fmt::format("{} names {} devices, --stages {} asks for {}", flag, count,
                       *options.stage_count, *options.stage_count),
           "leave one of the two away");
  }
  std::set<int> used;
  for (const int device : options.device_order) {
    if (device < 0 || device >= device_count) {
      refuse(fmt::format("{}: expected devices from 0 to {}, found {}", flag, device_count - 1,
                         device),
             fmt::format("the profile has {} devices", device_count));
    }
    if (!used.insert(device).second) {
      refuse(fmt::format("{}: device {} stands there twice", flag, device), "a rank has its own");
    }
  }
  return {.layout = {}, .rank_count = count, .devices = options.device_order};
}

/// One pipeline, a device a rank.
std::vector<PipelineShape> single_pipelines(const Profile& profile,
                                            const PartitionOptions& options) {
  std::vector<PipelineShape> shapes;
  for (const int count : rank_counts(profile, options)) {
    const auto device_count = static_cast<int>(profile.devices.size());
    if (count > device_count || !differ(profile.devices)) {
      shapes.push_back({.layout = {}, .rank_count = count});
      continue;
    }
    for (std::vector<int>& order : device_orders(profile.devices, count)) {
      shapes.push_back({.layout = {}, .rank_count = count, .devices = std::move(order)});
    }
  }
  return shapes;
}

int per_node(const Profile& profile) {
  return profile.cluster ? profile.cluster->devices_per_node
                         : std::max(1, static_cast<int>(profile.devices.size()));
}

/// Layouts of one sharding and number of ranks.
void add_layouts(const Profile& profile, const PartitionOptions& options, const Sharding& sharding,
                 int rank_count, int device_count, std::vector<PipelineShape>& shapes) {
  const std::int64_t room = device_count / (sharding.device_count() * rank_count);
  if (room < 1) return;
  std::int64_t pipelines = most_pipelines(options.global_batch, room);
  if (options.data_parallel) {
    if (*options.data_parallel > room || options.global_batch % *options.data_parallel != 0) return;
    pipelines = *options.data_parallel;
  }
  if (pipelines * sharding.context % sharding.expert != 0) return;
  const Layout plain{.sharding = sharding, .data_parallel = static_cast<int>(pipelines)};
  if (!Geometry(plain, rank_count, per_node(profile)).whole_nodes()) return;
  const int used = sharding.device_count() * rank_count * static_cast<int>(pipelines);
  std::vector<DeviceOrder> orders{DeviceOrder::kDataInside};
  if (pipelines > 1 && rank_count > 1 && used > per_node(profile)) {
    orders.push_back(DeviceOrder::kPipelineInside);
  }
  std::vector<DataSharding> divided{DataSharding::kNone};
  if (pipelines * sharding.context > 1) divided.push_back(DataSharding::kOptimizer);
  if (options.data_sharding) divided = {*options.data_sharding};
  for (const DeviceOrder order : orders) {
    for (const DataSharding sharded : divided) {
      shapes.push_back({.layout = {.sharding = sharding,
                                   .data_parallel = static_cast<int>(pipelines),
                                   .data_sharding = sharded,
                                   .order = order},
                        .rank_count = rank_count});
    }
  }
}

/// Every layout of so many devices.
std::vector<PipelineShape> cluster_shapes(const Profile& profile, const PartitionOptions& options,
                                          int device_count) {
  if (options.stage_count) {
    check_rank_count(profile, *options.stage_count,
                     fmt::format("--stages {}", *options.stage_count));
  }
  if (device_count > 1 && profile.links.empty()) {
    refuse(fmt::format("{} devices: the profile has no link between two of them", device_count),
           "profile with at least two workers, so that transfers are measured");
  }
  std::vector<PipelineShape> shapes;
  const auto layer_count = static_cast<int>(profile.model.layers.size());
  for (const Sharding& sharding : shardings_of(profile)) {
    if (options.tensor_parallel && sharding.tensor != *options.tensor_parallel) continue;
    const int most = std::min(layer_count, device_count / sharding.device_count());
    const int first = options.stage_count.value_or(1);
    const int last = std::min(most, options.stage_count.value_or(most));
    for (int count = first; count <= last; ++count) {
      add_layouts(profile, options, sharding, count, device_count, shapes);
    }
  }
  if (!shapes.empty()) return shapes;
  refuse(fmt::format("no layout of {} devices: the profile has no rows for it, or the batch of {} "
                     "cannot be dealt out so",
                     device_count, options.global_batch),
         "leave --tensor-parallel, --data-parallel or --stages away, or profile more degrees");
}

void check_devices(const Profile& profile, const PartitionOptions& options) {
  constexpr int kMostDevices = 65'536;
  const auto check = [](const std::optional<int>& count, const char* flag, int most) {
    if (!count || (*count >= 1 && *count <= most)) return;
    refuse(fmt::format("{} {}: expected 1 to {}", flag, *count, most), "");
  };
  check(options.device_count, "--devices", kMostDevices);
  if (options.device_count.value_or(1) > 1 && profile.links.empty()) {
    refuse(fmt::format("--devices {}: the profile has no link between two devices",
                       *options.device_count),
           "profile with at least two workers, so that transfers are measured");
  }
  check(options.tensor_parallel, "--tensor-parallel", kMostDevices);
  check(options.data_parallel, "--data-parallel", kMostDevices);
  const bool cluster = options.device_count || profile.cluster;
  if (!cluster && (options.tensor_parallel || options.data_parallel)) {
    refuse("--tensor-parallel and --data-parallel need the number of devices",
           "give it: --devices 16");
  }
  if (options.reserve < Bytes{0}) refuse("--reserve: must not be negative", "");
}

std::vector<PipelineShape> shapes_of(const Profile& profile, const PartitionOptions& options) {
  check_devices(profile, options);
  if (!options.device_order.empty()) {
    if (!options.device_count && !profile.cluster) return {ordered_pipeline(profile, options)};
    refuse("--device-order goes with one pipeline", "leave --devices away");
  }
  if (options.device_count) return cluster_shapes(profile, options, *options.device_count);
  if (profile.cluster) return cluster_shapes(profile, options, profile.cluster->device_count());
  return single_pipelines(profile, options);
}

/// Sizes of recomputed pieces to try.
std::vector<std::int64_t> chunks_of(const Profile& profile, const PartitionOptions& options) {
  std::set<std::int64_t> measured{0};
  for (const Measurement& row : profile.measurements) measured.insert(row.recompute_chunk);
  if (!options.recompute_chunk) return {measured.begin(), measured.end()};
  if (measured.contains(*options.recompute_chunk)) return {*options.recompute_chunk};
  refuse(fmt::format("--recompute-chunk-size {}: the profile has rows for {}",
                     *options.recompute_chunk, fmt::join(measured, ", ")),
         "0 is all at once");
}

bool too_long(std::int64_t batch, int micro_batch, int stage_count) {
  const std::int64_t micro_batch_count = (batch + micro_batch - 1) / micro_batch;
  return micro_batch_count > kPlannedActionLimit / (2 * stage_count);
}

/// Sizes to try of a pipeline's batch, or Error when there is none.
std::vector<int> micro_batch_sizes(const Question& question, std::int64_t batch,
                                   const IntegerRange& measured, int stage_count) {
  const std::string range = measured.least == measured.most
                                ? fmt::format("only {}", measured.least)
                                : fmt::format("{} to {}", measured.least, measured.most);
  if (measured.least > measured.most) {
    refuse("the profile has no micro-batch size that was measured for every kind of layer",
           "profile the model again");
  }
  const std::string measure_more = "measure more: ppplan profile ... --micro-batches SIZES";
  IntegerRange sizes{measured.least, std::min(measured.most, batch)};
  if (question.micro_batch) {
    const int size = *question.micro_batch;
    if (size < measured.least || size > measured.most) {
      refuse(fmt::format("--micro-batch {} is outside what the profile measured: {}", size, range),
             measure_more);
    }
    sizes = {size, std::min<std::int64_t>(size, batch)};
  }
  if (sizes.least > sizes.most) {
    refuse(fmt::format("--global-batch {} is smaller than every measured micro-batch ({})", batch,
                       range),
           measure_more);
  }
  std::vector<int> usable;
  std::vector<int> dividing;
  bool any_short_enough = false;
  for (auto size = static_cast<int>(sizes.least); size <= sizes.most; ++size) {
    if (too_long(batch, size, stage_count)) continue;
    any_short_enough = true;
    const std::int64_t rest = batch % size;
    if (rest == 0) dividing.push_back(size);
    if (rest == 0 || rest >= measured.least) usable.push_back(size);
  }
  if (!any_short_enough) {
    refuse(fmt::format("--global-batch {} in micro-batches of at most {} makes too long a schedule "
                       "on {} stages: more than {} actions",
                       batch, sizes.most, stage_count, kPlannedActionLimit),
           "ask for a smaller batch, or measure larger micro-batches");
  }
  if (usable.empty()) {
    refuse(fmt::format("--global-batch {} leaves a last micro-batch smaller than the smallest "
                       "measured ({})",
                       batch, measured.least),
           measure_more);
  }
  // Trainers of several pipelines want micro-batches of one size.
  const bool several = batch != question.global_batch;
  return several && !dividing.empty() ? dividing : usable;
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
  Question question{.profile = &profile,
                    .shapes = shapes_of(profile, options),
                    .virtual_count = options.virtual_count,
                    .global_batch = options.global_batch,
                    .micro_batch = options.micro_batch,
                    .sequence = options.sequence.value_or(sequences.back()),
                    .memory = options.memory,
                    .reserve = options.reserve,
                    .schedules = named_only(allowed_schedules(profile, options)),
                    .drafts = drafts(options),
                    .pins = options.pins,
                    .layer_counts = options.layer_counts,
                    .forward_only = options.forward_only,
                    .recompute = options.forward_only ? Recompute::kNone : options.recompute,
                    .chunks = chunks_of(profile, options)};
  question.book = std::make_shared<CostBook>(profile, question.sequence,
                                             question.devices_per_node(), question.forward_only);
  return question;
}

int Question::devices_per_node() const {
  return per_node(*profile);
}

namespace {

/// The devices of one pipeline rank, as indices of Profile::devices.
std::vector<std::size_t> devices_of(const Question& question, const PipelineShape& shape,
                                    int rank) {
  const auto at = static_cast<std::size_t>(rank);
  if (!shape.devices.empty()) return {static_cast<std::size_t>(shape.devices[at])};
  const std::vector<Device>& devices = question.profile->devices;
  if (!differ(devices)) return {std::min(at, devices.size() - 1)};
  if (shape.layout.device_count() == 1) return {std::min(at, devices.size() - 1)};
  const Layout& layout = shape.layout;
  const int shared = layout.sharding.device_count();
  std::set<std::size_t> used;
  for (int pipeline = 0; pipeline < layout.data_parallel; ++pipeline) {
    const int unit = layout.order == DeviceOrder::kDataInside
                         ? rank * layout.data_parallel + pipeline
                         : pipeline * shape.rank_count + rank;
    for (int device = unit * shared; device < (unit + 1) * shared; ++device) {
      used.insert(static_cast<std::size_t>(device) % devices.size());
    }
  }
  return {used.begin(), used.end()};
}

/// Least memory, least speed and the name of the devices of each rank.
void place_ranks(const Question& question, const PipelineShape& shape, CostBasis& basis) {
  const std::vector<Device>& devices = question.profile->devices;
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    Bytes memory{std::numeric_limits<std::int64_t>::max()};
    double speed = 1.0;
    std::string name;
    if (!devices.empty()) {
      const std::vector<std::size_t> used = devices_of(question, shape, rank);
      speed = devices[used.front()].speed;
      name = devices[used.front()].name;
      for (const std::size_t device : used) {
        memory = std::min(memory, devices[device].memory);
        speed = std::min(speed, devices[device].speed);
      }
    }
    basis.slowdown.push_back(1.0 / speed);
    basis.devices.push_back(name);
    basis.allowed.push_back(question.memory.value_or(memory) - question.reserve);
  }
}

/// No plan of this size is faster, whatever the cut and schedule: work spread evenly over the
/// ranks, or one micro-batch's way through all layers, which meets every rank; then a fair share of
/// the reduction and the optimizer. O(1).
Seconds cheap_bound(const Question& question, const PipelineShape& shape, const ChainCosts& chain,
                    int full_count) {
  const Profile& profile = *question.profile;
  double speed = 0.0;
  for (const Device& device : profile.devices) speed = std::max(speed, device.speed);
  const double slowdown = speed > 0.0 ? 1.0 / speed : 1.0;
  const int layers = chain.layer_count();
  const int rank_count = shape.rank_count;
  Seconds work{0};
  Seconds through{0};
  for (int index = 0; index < chain.class_count(); ++index) {
    const int count = index == 0 ? full_count : 1;
    const Seconds calls = (question.forward_only ? 1.0 : 2.0) * rank_count * profile.call_overhead;
    const Seconds forward = chain.forward(0, layers, index);
    work += ((forward + chain.least_backward(0, layers, index)) * slowdown + calls) * count;
    const Seconds down =
        std::min(chain.backward(0, layers, index), chain.backward_input(0, layers, index));
    const Seconds hops =
        (question.forward_only ? 1.0 : 2.0) * (rank_count - 1) * chain.least_transfer(index);
    through = std::max(through, (forward + down) * slowdown + calls + hops);
  }
  StaticMemory share = chain.static_memory(0, layers);
  for (Bytes* bytes : {&share.updated, &share.gradients}) bytes->count /= rank_count;
  return std::max(work / rank_count, through) + chain.replica_reduction(share) +
         chain.optimizer(0, layers) * slowdown / rank_count + profile.step_overhead;
}

}  // namespace

Seconds cheap_bound(const Question& question, const Size& size) {
  const std::int64_t batch = question.global_batch / size.shape.layout.data_parallel;
  std::vector<int> classes{size.micro_batch};
  if (batch % size.micro_batch != 0) classes.push_back(static_cast<int>(batch % size.micro_batch));
  const ChainCosts chain =
      question.book->chain(size.shape.layout, size.shape.rank_count, size.chunk, classes);
  return cheap_bound(question, size.shape, chain, static_cast<int>(batch / size.micro_batch));
}

std::vector<Size> sizes_of(const Question& question, const PipelineShape& shape) {
  const std::int64_t batch = question.global_batch / shape.layout.data_parallel;
  const int stages = shape.rank_count * question.virtual_count.value_or(1);
  std::vector<Size> sizes;
  for (const std::int64_t chunk : question.chunks) {
    const CostTable& table =
        question.book->table(shape.layout.sharding, chunk, shape.device_count());
    for (const int micro_batch :
         micro_batch_sizes(question, batch, table.micro_batches(), stages)) {
      if (chunk >= micro_batch * question.sequence && chunk > 0) continue;
      Size size{shape, chunk, micro_batch, Seconds(0)};
      size.bound = cheap_bound(question, size);
      sizes.push_back(std::move(size));
    }
  }
  return sizes;
}

std::vector<Size> sizes_of(const Question& question) {
  std::vector<Size> sizes;
  std::optional<Error> refusal;
  for (const PipelineShape& shape : question.shapes) {
    try {
      for (Size& size : sizes_of(question, shape)) sizes.push_back(std::move(size));
    } catch (const Error& error) {
      if (question.shapes.size() == 1) throw;
      refusal = error;  // another layout may serve
    }
  }
  if (sizes.empty() && refusal) throw *refusal;
  if (sizes.empty()) {
    refuse(fmt::format("--recompute-chunk-size {}: every micro-batch that can be planned has no "
                       "more tokens",
                       question.chunks.front()),
           "ask for smaller pieces, or for 0: all at once");
  }
  std::ranges::stable_sort(sizes, {}, &Size::bound);
  return sizes;
}

Bytes allowed_memory(const Question& question) {
  Bytes most{0};
  for (const Device& device : question.profile->devices) most = std::max(most, device.memory);
  return question.memory.value_or(most) - question.reserve;
}

std::shared_ptr<const CostBasis> make_basis(const Question& question, const Size& size) {
  const PipelineShape& shape = size.shape;
  const BatchSplit batch =
      split_batch(question.global_batch / shape.layout.data_parallel, size.micro_batch);
  CostBasis basis{
      .layout = shape.layout,
      .rank_count = shape.rank_count,
      .recompute_chunk = size.chunk,
      .most_recompute = question.recompute,
      .batch = batch,
      .costs = question.book->chain(shape.layout, shape.rank_count, size.chunk, batch.class_size),
      .geometry = Geometry(shape.layout, shape.rank_count, question.devices_per_node()),
      .call_overhead = question.profile->call_overhead,
      .step_overhead = question.profile->step_overhead};
  place_ranks(question, shape, basis);
  return std::make_shared<const CostBasis>(std::move(basis));
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

int default_stages(const std::string& name) {
  const auto made =
      make_schedule(name, {.rank_count = 1, .micro_batch_count = 1, .virtual_count = 2});
  const auto* schedule = std::get_if<Schedule>(&made);
  return schedule == nullptr ? 2 : schedule->stage_count();
}

/// Stages a rank to try with a schedule: of layouts of many devices several numbers.
std::vector<int> virtual_counts(const Question& question, const std::string& name,
                                const CostBasis& basis) {
  if (question.virtual_count) return {*question.virtual_count};
  // Several stages on one rank are one stage with more calls.
  const bool other_serves = std::ranges::any_of(
      question.schedules, [](const std::string& other) { return default_stages(other) == 1; });
  if (basis.rank_count == 1 && other_serves && default_stages(name) > 1) return {};
  const bool any_number = name == "interleaved-1f1b" || name == "looped-bfs";
  const bool layouts =
      question.shapes.front().layout.device_count() > 1 || question.profile->cluster.has_value();
  const int layers = basis.chain().layer_count();
  if (!any_number || !layouts || 4 * basis.rank_count > layers) return {2};
  return {2, 4};
}

}  // namespace

Offer offer(const Question& question, const std::shared_ptr<const CostBasis>& basis) {
  Offer offer;
  for (const std::string& name : question.schedules) {
    for (const int virtual_count : virtual_counts(question, name, *basis)) {
      const ScheduleShape shape{.rank_count = basis->rank_count,
                                .micro_batch_count = basis->batch.micro_batch_count(),
                                .virtual_count = virtual_count};
      try {
        Schedule schedule = fitting_schedule(question, name, shape);
        CutLimits limits = cut_limits(question.pins, question.layer_counts,
                                      basis->chain().layer_count(), schedule.stage_count());
        offer.candidates.emplace_back(basis, std::move(schedule), std::move(limits));
      } catch (const Error& refusal) {
        offer.refusal = refusal;  // another schedule may serve
      }
    }
  }
  return offer;
}

}  // namespace ppplan::planner
