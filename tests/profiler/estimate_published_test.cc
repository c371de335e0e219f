// Estimates beside measurements that others published; errors are printed.
#include "profiler/estimate/data_sheets.h"
#include "profiler/estimate/estimate.h"
#include "profiler/models/load.h"
#include "reports/documents/file.h"
#include "tests/support/estimated_profile.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace ppplan::profiler {
namespace {

/// Lines of a file of measurements; empty, and said so, where it is absent.
std::vector<std::string> measured_lines(const std::string& name) {
  const std::filesystem::path file =
      std::filesystem::path(PPPLAN_SHARED_ROOT) / "data/measured" / name;
  std::vector<std::string> lines;
  if (!std::filesystem::exists(file)) {
    MESSAGE("skipped: no " << file.string());
    return lines;
  }
  std::istringstream text(read_file(file));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// Collects relative errors.
class Errors {
 public:
  void add(double estimated, double measured) {
    const double error = estimated / measured - 1.0;
    sum_ += error;
    worst_ = std::max(worst_, std::abs(error));
    ++count_;
  }
  [[nodiscard]] double worst() const { return worst_; }
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} measurements, mean error {:+.1f} %, worst {:.1f} %", count_,
                       100.0 * sum_ / count_, 100.0 * worst_);
  }

 private:
  double sum_ = 0.0;
  double worst_ = 0.0;
  int count_ = 0;
};

/// Forward and backward of one layer, not in chunks, with its collectives over the link inside a
/// node: a ring's n - 1 steps. Gathers are repeated in backward for the weights' gradients.
double pass_s(const Profile& profile, int kind, Recompute recompute) {
  for (const Measurement& row : profile.measurements) {
    if (row.kind != kind || row.recompute != recompute || row.recompute_chunk != 0) continue;
    double sum_s = (row.forward.median + row.backward.median).count();
    for (const Collective& collective : row.collectives) {
      const bool is_tensor = collective.group == CollectiveGroup::kTensor;
      const double devices = is_tensor ? row.sharding.tensor : row.sharding.context;
      const double repeats = collective.kind == CollectiveKind::kAllGather ? 3.0 : 2.0;
      const Link& link = profile.links.front();
      const Seconds once =
          (devices - 1.0) * (link.latency + collective.size / link.bandwidth / devices);
      sum_s += repeats * collective.count * once.count();
    }
    return sum_s;
  }
  FAIL("no such row");
  return 0.0;
}

struct MegatronRun {
  double batch, micro_batch, hidden, heads, layers, sequence, tensor, data, pipeline, step_ms;
};

MegatronRun parse_megatron(const std::string& line) {
  std::vector<double> cells;
  std::istringstream row(line);
  for (std::string cell; std::getline(row, cell, ',');) cells.push_back(std::stod(cell));
  REQUIRE(cells.size() == 11);
  return {cells[1], cells[2], cells[3], cells[4], cells[5],
          cells[6], cells[7], cells[8], cells[9], cells[10]};
}

/// A step of GPT with dropout, stored scores and everything recomputed. What no layer's estimate
/// holds, the reduction of 16-bit gradients among data-parallel ranks of a node, at 200 GB/s.
double megatron_step_s(const MegatronRun& run) {
  const std::string config = fmt::format(
      R"({{"model_type": "gpt2", "n_embd": {}, "n_layer": 1, "n_head": {}, "n_positions": {},
           "vocab_size": 51200}})",
      run.hidden, run.heads, run.sequence);
  const Profile profile = estimate(read_model_config(config, "gpt", "gpt", {}).model,
                                   {.device = find_data_sheet("a100-80g"),
                                    .cluster = {1, 8},
                                    .micro_batches = {static_cast<int>(run.micro_batch)},
                                    .sequences = {static_cast<std::int64_t>(run.sequence)},
                                    .attention = AttentionKernel::kMath,
                                    .dropout = true});
  const double micro_batch_count = run.batch / run.data / run.micro_batch;
  double step_s = micro_batch_count *
                  (run.layers * pass_s(profile, 1, Recompute::kFull) +
                   pass_s(profile, 0, Recompute::kNone) + pass_s(profile, 2, Recompute::kNone));
  for (const OptimizerCost& cost : profile.optimizer) {
    const double sent =
        2.0 * static_cast<double>(cost.parameters.count) * (run.data - 1.0) / run.data;
    step_s += (cost.kind == 1 ? run.layers : 1.0) * (cost.step.median.count() + sent / 200e9);
  }
  return step_s;
}

/// A run of the B200 table: Llama 3 with a few blocks on 8 devices, no pipeline.
struct LlamaRun {
  bool is_405b = false;
  int tensor = 1;
  int context = 1;
  int micro_batch_count = 0;
  std::int64_t sequence = 4096;
  double step_ms = 0.0;
  double peak_gib = 0.0;  ///< allocated, of the fullest device
};

std::optional<LlamaRun> parse_llama(const std::string& line) {
  static const std::regex kName(
      R"(^\| llama3_(\d+)b_(\S+) \| - \| ([0-9.]+) \| [0-9.]+ \| \S+ \| ([0-9.]+) \|)");
  static const std::regex kPart(R"((tp|cp|pp|seq|mbc)(\d+))");
  std::smatch found;
  if (!std::regex_search(line, found, kName)) return std::nullopt;
  LlamaRun run{.is_405b = found[1] == "405",
               .step_ms = std::stod(found[3]),
               .peak_gib = std::stod(found[4])};
  std::map<std::string, int> parts;
  const std::string rest = found[2];
  for (std::sregex_iterator part(rest.begin(), rest.end(), kPart), end; part != end; ++part) {
    parts[(*part)[1]] = std::stoi((*part)[2]);
  }
  if (parts["pp"] != 1) return std::nullopt;
  run.tensor = parts["tp"];
  run.context = std::max(1, parts["cp"]);
  run.micro_batch_count = parts["mbc"];
  if (parts["seq"] > 0) run.sequence = parts["seq"];
  return run;
}

Profile llama_profile(const LlamaRun& run) {
  const Model model =
      run.is_405b
          ? testing::llama_405b()
          : testing::llama_of(
                {.hidden = 8192, .head_count = 64, .feed_forward = 28672, .max_sequence = 131072});
  return estimate(model, {.device = find_data_sheet("b200"),
                          .cluster = {1, 8},
                          .micro_batches = {1},
                          .sequences = {run.sequence},
                          .tensor_degrees = {run.tensor},
                          .context_degrees = {run.context}});
}

int layer_count(const LlamaRun& run, int kind) {
  return kind != 1 ? 1 : run.is_405b ? 4 : 12;
}

double micro_batch_s(const LlamaRun& run) {
  const Profile profile = llama_profile(run);
  double sum_s = 0.0;
  for (int kind = 0; kind < 3; ++kind) {
    sum_s += layer_count(run, kind) * pass_s(profile, kind, Recompute::kNone);
  }
  return sum_s;
}

/// Parameters, gradients, an optimizer divided among the devices that hold the same parameters,
/// what all layers keep, and the head's transients, the highest above that.
double peak_gib(const LlamaRun& run) {
  const Profile profile = llama_profile(run);
  const double holders = 8.0 / run.tensor;
  double bytes = 0.0;
  for (const OptimizerCost& cost : profile.optimizer) {
    bytes += layer_count(run, cost.kind) *
             (static_cast<double>((cost.parameters + cost.gradients).count) +
              static_cast<double>(cost.optimizer_state.count) / holders);
  }
  for (const Measurement& row : profile.measurements) {
    if (row.recompute != Recompute::kNone || row.recompute_chunk != 0) continue;
    bytes += layer_count(run, row.kind) * static_cast<double>(row.saved.count);
    if (row.kind == 2) bytes += static_cast<double>(row.backward_peak.count);
  }
  return bytes / (1 << 30);
}

}  // namespace

TEST_SUITE_BEGIN("shared");

// vTrain's measurements of Megatron-DeepSpeed; those without tensor and pipeline parallelism, and
// large enough not to be bound by their host, which was slower than today's.
TEST_CASE("estimate: steps of GPT on A100s are met within 20 %") {
  const std::vector<std::string> lines = measured_lines("megatron_a100_one_node.csv");
  Errors errors;
  for (std::size_t index = 1; index < lines.size(); ++index) {
    const MegatronRun run = parse_megatron(lines[index]);
    if (run.tensor != 1 || run.pipeline != 1 || run.micro_batch < 4 || run.hidden < 2048) continue;
    CAPTURE(lines[index]);
    errors.add(megatron_step_s(run) * 1e3, run.step_ms);
    CHECK(errors.worst() < 0.20);
  }
  if (errors.count() > 0) MESSAGE(errors.text());
}

// SimuMax's measurements of Megatron-LM. With tensor parallelism alone, a micro-batch is the
// difference of runs of 32 and of 8, without the optimizer's share; with context parallelism there
// are only runs of 4, and the share is in them.
TEST_CASE("estimate: Llama 3 70B and 405B on B200s: times within 20 %, memory within 10 %") {
  std::map<std::pair<bool, int>, LlamaRun> of_8;
  Errors times;
  Errors peaks;
  for (const std::string& line : measured_lines("simumax_b200.md")) {
    const std::optional<LlamaRun> run = parse_llama(line);
    if (!run) continue;
    CAPTURE(line);
    peaks.add(peak_gib(*run), run->peak_gib);
    const std::pair key(run->is_405b, run->tensor);
    if (run->micro_batch_count == 8) of_8[key] = *run;
    if (run->micro_batch_count == 32) {
      times.add(micro_batch_s(*run) * 1e3, (run->step_ms - of_8.at(key).step_ms) / 24);
    } else if (run->context > 1) {
      times.add(micro_batch_s(*run) * 1e3, run->step_ms / run->micro_batch_count);
    }
    CHECK(times.worst() < 0.20);
    CHECK(peaks.worst() < 0.10);
  }
  if (times.count() > 0) MESSAGE("times: " << times.text() << "; peaks: " << peaks.text());
}

TEST_SUITE_END();

}  // namespace ppplan::profiler
