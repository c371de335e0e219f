#include "reports/documents/profile.h"

#include "reports/documents/described.h"
#include "reports/documents/file.h"
#include "reports/documents/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace ppplan {
namespace {

constexpr Schema kSchema = {"profile", 1};
constexpr IntegerRange kMicroBatch = {1, 1'000'000};
constexpr IntegerRange kSequence = {1, 1'000'000'000};
constexpr IntegerRange kWorkers = {1, 65'536};
constexpr IntegerRange kCalls = {1, 1'000};
constexpr std::int64_t kMostDevices = 1'000'000;
constexpr double kMostFlopsPerS = 1e24;

}  // namespace

const std::vector<std::string>& origin_words() {
  static const std::vector<std::string> words = {"measured", "imported", "estimated"};
  return words;
}

template <typename Io>
void describe(Io& io, Like<Timing> auto& timing) {
  io("median_s", timing.median);
  io("spread", timing.spread);
  io("repeats", timing.repeats);
}

const std::vector<std::string>& recompute_words() {
  static const std::vector<std::string> words = {"none", "selective", "full"};
  return words;
}

template <typename Io>
void describe_sharding(Io& io, Like<Sharding> auto& sharding) {
  io.usually("tensor_parallel", sharding.tensor, 1, kWorkers);
  io.usually("context_parallel", sharding.context, 1, kWorkers);
  io.usually("expert_parallel", sharding.expert, 1, kWorkers);
}

template <typename Io>
void describe(Io& io, Like<Collective> auto& collective) {
  static const std::vector<std::string> kinds = {"all_reduce", "all_gather", "reduce_scatter",
                                                 "all_to_all"};
  static const std::vector<std::string> groups = {"tensor", "context", "expert"};
  io.word("kind", collective.kind, kinds);
  io.word("group", collective.group, groups);
  io("count", collective.count, kCalls);
  io("size_bytes", collective.size);
}

template <typename Io>
void describe(Io& io, Like<Measurement> auto& row, const std::vector<std::string>& kinds) {
  io.word("kind", row.kind, kinds);
  io("micro_batch", row.micro_batch, kMicroBatch);
  io("sequence", row.sequence, kSequence);
  describe_sharding(io, row.sharding);
  io.word("recompute", row.recompute, recompute_words());
  io.usually("recompute_chunk", row.recompute_chunk, std::int64_t{0}, kSequence);
  io("workers", row.concurrent_workers, kWorkers);
  io.row("forward", row.forward);
  io.row("backward", row.backward);
  io.row("backward_input", row.backward_input);
  io.row("backward_weight", row.backward_weight);
  io("recompute_extra_s", row.recompute_extra);
  io("saved_bytes", row.saved);
  io("forward_peak_bytes", row.forward_peak);
  io("backward_peak_bytes", row.backward_peak);
  io("weight_pending_bytes", row.weight_pending);
  io("output_bytes", row.output);
  io("stable", row.stable);
  io.usually("variation", row.variation, 0.0, NumberRange{0.0, 100.0});
  io.optional_rows("collectives", row.collectives);
}

template <typename Io>
void describe(Io& io, Like<OptimizerCost> auto& cost, const std::vector<std::string>& kinds) {
  io.word("kind", cost.kind, kinds);
  describe_sharding(io, cost.sharding);
  io("workers", cost.concurrent_workers, kWorkers);
  io.row("step", cost.step);
  io("parameter_bytes", cost.parameters);
  io("gradient_bytes", cost.gradients);
  io("optimizer_state_bytes", cost.optimizer_state);
}

template <typename Io>
void describe(Io& io, Like<LinkSample> auto& sample) {
  io("size_bytes", sample.size);
  io.row("transfer", sample.transfer);
}

template <typename Io>
void describe_link(Io& io, Like<Link> auto& link) {
  static const std::vector<std::string> scopes = {"inside", "between"};
  io("name", link.name);
  io("backend", link.backend);
  io.usual_word("scope", link.scope, LinkScope::kInside, scopes);
  io("latency_s", link.latency);
  io("bandwidth_bytes_per_s", link.bandwidth);
  io("fit_error", link.fit_error);
  io.rows("samples", link.samples);
}

void describe(MappingReader& io, Link& link) {
  describe_link(io, link);
}
void describe(MappingWriter& io, const Link& link) {
  describe_link(io, link);
}

template <typename Io>
void describe(Io& io, Like<Device> auto& device) {
  io("name", device.name);
  io("type", device.type);
  io("id", device.id);
  io("memory_bytes", device.memory);
  io.usually("speed", device.speed, 1.0, NumberRange{1e-6, 1e6});
  io.usually("peak_flops_per_s", device.peak_flops_per_s, 0.0, NumberRange{0.0, kMostFlopsPerS});
}

template <typename Io>
void describe(Io& io, Like<Cluster> auto& cluster) {
  io("nodes", cluster.node_count, kWorkers);
  io("devices_per_node", cluster.devices_per_node, kWorkers);
}

void validate(const Cluster& cluster, const Fields& fields) {
  const auto device_count = std::int64_t{cluster.node_count} * cluster.devices_per_node;
  if (device_count <= kMostDevices) return;
  fields.fail("nodes", fmt::format("expected at most {} devices in all, found {}", kMostDevices,
                                   device_count));
}

template <typename Io>
void describe_kernels(Io& io, Like<Kernels> auto& kernels) {
  io("torch", kernels.torch);
  io("attention", kernels.attention);
  io("blas", kernels.blas);
  io("precision", kernels.precision);
  io("threads", kernels.threads, kWorkers);
  io("pinned", kernels.pinned);
}

void describe(MappingReader& io, Kernels& kernels) {
  describe_kernels(io, kernels);
}
void describe(MappingWriter& io, const Kernels& kernels) {
  describe_kernels(io, kernels);
}

template <typename Io>
void describe(Io& io, Like<Profile> auto& profile) {
  io("tool_version", profile.tool_version);
  io("input_sha256", profile.input_sha256);
  io.word("origin", profile.origin, origin_words());
  io.block("model", profile.model);
  io.rows("devices", profile.devices);
  io.optional_row("cluster", profile.cluster);
  io.row("kernels", profile.kernels);
  io("target_spread", profile.target_spread);
  io("call_overhead_s", profile.call_overhead);
  io("step_overhead_s", profile.step_overhead);
  io.rows("measurements", profile.measurements, kind_names(profile.model));
  io.rows("optimizer", profile.optimizer, kind_names(profile.model));
  io.blocks("links", profile.links);
}

void check_bandwidth(const Link& link, const Fields& fields) {
  if (link.bandwidth.value > 0.0) return;
  fields.fail("bandwidth_bytes_per_s", "expected a number above 0, found 0");
}

/// Each cell of the table stands once, and a link joins several devices.
void validate(const Profile& profile, const Fields& fields) {
  using Cell = std::tuple<int, int, std::int64_t, Sharding, Recompute, std::int64_t, int>;
  std::vector<std::pair<Cell, std::size_t>> cells;
  for (std::size_t row = 0; row < profile.measurements.size(); ++row) {
    const Measurement& m = profile.measurements[row];
    cells.push_back({{m.kind, m.micro_batch, m.sequence, m.sharding, m.recompute, m.recompute_chunk,
                      m.concurrent_workers},
                     row});
  }
  std::sort(cells.begin(), cells.end());
  const auto twice = std::adjacent_find(
      cells.begin(), cells.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != cells.end()) {
    fields.fail("measurements",
                fmt::format("expected each shape of a kind once, found rows {} and {} alike",
                            twice->second, std::next(twice)->second),
                "remove one of the two rows");
  }
  const std::vector<Fields> links = fields.maps("links");
  for (std::size_t link = 0; link < links.size(); ++link)
    check_bandwidth(profile.links[link], links[link]);
  if (profile.devices.empty()) fields.fail("devices", "expected at least one device, found none");
  if (profile.devices.size() > 1 && profile.links.empty()) {
    fields.fail("links", fmt::format("expected at least one link between {} devices, found none",
                                     profile.devices.size()));
  }
}

Profile read_profile(std::string_view text, const std::string& name) {
  return read_document<Profile>(text, name, kSchema);
}

Profile load_profile(const std::filesystem::path& path) {
  return read_profile(read_file(path), path.string());
}

std::string write_profile(const Profile& profile) {
  return write_document(profile, kSchema);
}

}  // namespace ppplan
