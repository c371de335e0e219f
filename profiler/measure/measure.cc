#include "profiler/measure/measure.h"

#include "profiler/measure/layer_bench.h"
#include "profiler/measure/links.h"
#include "profiler/measure/statistics.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

namespace ppplan::profiler {
namespace {

using executor::Transport;
using Clock = std::chrono::steady_clock;

constexpr int kLeastRepeats = 3;  // even where one pass outlasts the budget
constexpr int kSplitRepeats =
    3;  // a split backward costs what a full one does; its parts are needed
constexpr int kMostInstances = 8;

/// Size of the last-level cache, which a real step's weights flush; a guess where it is not told.
Bytes last_level_cache() {
  for (const int index : {3, 2}) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::string text;
    if (file >> text) {
      if (const std::optional<Bytes> size = parse_bytes(text + "iB")) return *size;
    }
  }
  return {32LL << 20};
}

/// Layers to run in turn so that their weights do not stay in the cache, unless the model has so
/// few that a real step's would.
int instance_count(const Model& model, int kind) {
  const Bytes weights =
      Bytes{4} *
      std::max<std::int64_t>(1, parameter_count(model.kinds[static_cast<std::size_t>(kind)]));
  const auto in_model = std::count_if(model.layers.begin(), model.layers.end(),
                                      [&](const Layer& layer) { return layer.kind == kind; });
  const std::int64_t cold = 2 * last_level_cache().count / weights.count + 1;
  return static_cast<int>(std::min<std::int64_t>({cold, in_model, kMostInstances}));
}

/// The samples of one row and the rule that ends it.
class Row {
 public:
  Row(LayerShape shape, double target, Seconds budget)
      : shape_(shape), target_(target), budget_(budget) {}

  [[nodiscard]] const LayerShape& shape() const { return shape_; }

  void add(const FullPass& pass) {
    forward_s_.push_back(pass.forward_s);
    backward_s_.push_back(pass.backward_s);
  }
  void add(const SplitPass& pass) {
    input_s_.push_back(pass.backward_input_s);
    weight_s_.push_back(pass.backward_weight_s);
  }
  [[nodiscard]] bool needs_split() const { return input_s_.size() < kSplitRepeats; }
  void spend(Seconds time) { spent_ += time; }

  [[nodiscard]] bool known() const {
    return forward_s_.size() >= kLeastRepeats && summarize(forward_s_).spread <= target_ &&
           summarize(backward_s_).spread <= target_;
  }
  [[nodiscard]] bool done() const {
    return known() || (spent_ >= budget_ && forward_s_.size() >= kLeastRepeats);
  }

  [[nodiscard]] Measurement measurement(int kind, int workers, const LayerMemory& memory) const {
    Measurement row;
    row.kind = kind;
    row.micro_batch = shape_.micro_batch;
    row.sequence = shape_.sequence;
    row.concurrent_workers = workers;
    row.forward = summarize(forward_s_);
    row.backward = summarize(backward_s_);
    row.backward_input = summarize(input_s_);
    row.backward_weight = summarize(weight_s_);
    row.saved = memory.saved;
    row.forward_peak = memory.forward_peak;
    row.backward_peak = memory.backward_peak;
    row.weight_pending = memory.weight_pending;
    row.output = memory.output;
    row.stable = known();
    return row;
  }

 private:
  LayerShape shape_;
  double target_;
  Seconds budget_;
  Seconds spent_{0};
  std::vector<double> forward_s_, backward_s_, input_s_, weight_s_;
};

class Measuring {
 public:
  Measuring(const ProfileJob& job, Transport& transport, Progress& progress)
      : job_(job), transport_(transport), progress_(progress) {
    modes_ = {1};
    if (transport.rank_count() > 1) modes_.push_back(transport.rank_count());
    const std::size_t shapes = job.micro_batches.size() * job.sequences.size();
    row_total_ = static_cast<double>(job.model.kinds.size() * shapes * modes_.size());
  }

  Profile run() {
    progress_.start("profile", row_total_);
    for (int kind = 0; kind < static_cast<int>(job_.model.kinds.size()); ++kind) {
      measure_kind(kind);
    }
    measure_links();
    progress_.finish();
    return std::move(profile_);
  }

 private:
  [[nodiscard]] bool first() const { return transport_.rank() == 0; }

  /// Rank 0's word for all: true to go on.
  bool agree(bool go_on) { return transport_.sum({first() && go_on ? 1.0 : 0.0})[0] > 0.5; }

  void measure_kind(int kind) {
    LayerBench bench(job_.model, kind, instance_count(job_.model, kind));
    std::vector<LayerShape> shapes;
    for (const std::int64_t sequence : job_.sequences) {
      for (const int micro_batch : job_.micro_batches) shapes.push_back({micro_batch, sequence});
    }
    std::vector<LayerMemory> memory;
    for (const LayerShape& shape : shapes) memory.push_back(bench.memory(shape));
    for (const int workers : modes_) {
      measure_rows(bench, kind, workers, shapes, memory);
      measure_optimizer(bench, kind, workers);
    }
  }

  /// All shapes in turn, round by round, so that a slow moment of the machine touches each alike.
  void measure_rows(LayerBench& bench, int kind, int workers, const std::vector<LayerShape>& shapes,
                    const std::vector<LayerMemory>& memory) {
    std::vector<Row> rows;
    for (const LayerShape& shape : shapes) {
      rows.emplace_back(shape, job_.target_spread, job_.row_budget);
    }
    std::vector<bool> finished(rows.size(), false);
    const std::string name = job_.model.kinds[static_cast<std::size_t>(kind)].name;
    bool warm = false;
    while (agree(std::find(finished.begin(), finished.end(), false) != finished.end())) {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (!agree(!finished[row])) continue;
        const Clock::time_point start = Clock::now();
        const FullPass full = run_full(bench, rows[row].shape(), workers);
        if (!warm) continue;
        rows[row].add(full);
        rows[row].spend(Clock::now() - start);
        if (agree(rows[row].needs_split())) {
          rows[row].add(run_split(bench, rows[row].shape(), workers));
        }
        if (!finished[row] && rows[row].done()) {
          finished[row] = true;
          progress_.advance(++rows_done_, row_total_, name);
        }
      }
      warm = true;
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      profile_.measurements.push_back(rows[row].measurement(kind, workers, memory[row]));
    }
  }

  /// One pass; with several workers all run it at once and the mean over them counts.
  FullPass run_full(LayerBench& bench, const LayerShape& shape, int workers) {
    FullPass pass;
    if (workers > 1 || first()) pass = bench.run_full(shape);
    const std::vector<double> means = mean({pass.forward_s, pass.backward_s}, workers);
    return {means[0], means[1]};
  }

  SplitPass run_split(LayerBench& bench, const LayerShape& shape, int workers) {
    SplitPass pass;
    if (workers > 1 || first()) pass = bench.run_split(shape);
    const std::vector<double> means =
        mean({pass.backward_input_s, pass.backward_weight_s}, workers);
    return {means[0], means[1]};
  }

  /// Mean over the workers that measured: all, or rank 0 alone (the others give zeros).
  std::vector<double> mean(const std::vector<double>& own, int workers) {
    std::vector<double> sums = transport_.sum(own);
    for (double& sum : sums) sum /= workers;
    return sums;
  }

  void measure_optimizer(LayerBench& bench, int kind, int workers) {
    constexpr int kRepeats = 7;
    std::vector<double> samples_s;
    for (int repeat = -1; repeat < kRepeats; ++repeat) {
      transport_.sum({0.0});
      double taken_s = workers > 1 || first() ? bench.run_optimizer() : 0.0;
      if (workers > 1) taken_s = transport_.sum({taken_s})[0] / workers;
      if (repeat >= 0) samples_s.push_back(taken_s);
    }
    const Bytes parameters =
        Bytes{4} * parameter_count(job_.model.kinds[static_cast<std::size_t>(kind)]);
    profile_.optimizer.push_back({.kind = kind,
                                  .concurrent_workers = workers,
                                  .step = summarize(std::move(samples_s)),
                                  .parameters = parameters,
                                  .gradients = parameters,
                                  .optimizer_state = parameters * 2});
  }

  void measure_links() {
    if (transport_.rank_count() < 2) return;
    std::vector<double> barrier_s;
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Clock::time_point start = Clock::now();
      transport_.sum({0.0});
      barrier_s.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    profile_.step_overhead = summarize(std::move(barrier_s)).median;
    std::vector<Bytes> sizes{{4 << 10}, {64 << 10}, {1 << 20}, {4 << 20}};
    for (const int micro_batch : job_.micro_batches) {
      for (const std::int64_t sequence : job_.sequences) {
        sizes.push_back(Bytes{4} * (job_.model.hidden * sequence * micro_batch));
      }
    }
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    const auto smallest = std::min_element(job_.micro_batches.begin(), job_.micro_batches.end());
    const Bytes boundary = Bytes{4} * (job_.model.hidden * job_.sequences.front() * *smallest);
    profile_.call_overhead = measure_posting(transport_, boundary);
    profile_.links.push_back(measure_link(transport_, sizes));
    profile_.links.push_back(measure_exchange(transport_, {{1 << 20}, {8 << 20}, {32 << 20}}));
  }

  const ProfileJob& job_;
  Transport& transport_;
  Progress& progress_;
  std::vector<int> modes_;  ///< workers busy at once
  double rows_done_ = 0;
  double row_total_ = 0;
  Profile profile_;
};

}  // namespace

Profile measure(const ProfileJob& job, Transport& transport, Progress& progress) {
  const c10::InferenceMode no_autograd;
  Profile profile = Measuring(job, transport, progress).run();
  profile.model = job.model;
  profile.input_sha256 = job.input_sha256;
  profile.origin = Origin::kMeasured;
  profile.target_spread = job.target_spread;
  profile.tool_version = PPPLAN_VERSION;
  return profile;
}

}  // namespace ppplan::profiler
