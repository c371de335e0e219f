#include "executor/rank/run_rank.h"

#include "executor/layers/adamw.h"
#include "executor/layers/memory_counter.h"
#include "executor/layers/weight_files.h"
#include "executor/rank/batch.h"
#include "executor/rank/interpreter.h"
#include "executor/rank/reference.h"
#include "executor/rank/verify.h"
#include "executor/transport/shared_weights.h"
#include "planner/schedule/lowering.h"
#include "planner/schedule/planned.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace ppplan::executor {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kReferenceFile = "reference.safetensors";

void load_weights(const RunJob& job, const ParameterStore& store) {
  if (!job.weights) return;
  const WeightFiles files(*job.weights);
  for (const auto& [name, tensor] : store.all()) files.read_into(name, tensor->value);
}

/// The micro-batches of one step's global batch, made when first asked for.
class StepBatches {
 public:
  StepBatches(const ByteText& text, const std::vector<int>& sizes, std::uint64_t seed)
      : text_(&text), sizes_(&sizes), seed_(seed) {}

  void begin(int step) {
    step_ = step;
    made_.clear();
  }

  const Batch& get(int micro_batch) {
    const auto found = made_.find(micro_batch);
    if (found != made_.end()) return found->second;
    const auto place = static_cast<std::size_t>(micro_batch);
    const int first = std::accumulate(sizes_->begin(), sizes_->begin() + micro_batch, 0);
    return made_.emplace(micro_batch, text_->samples(seed_, step_, first, (*sizes_)[place]))
        .first->second;
  }

 private:
  const ByteText* text_;
  const std::vector<int>* sizes_;
  std::uint64_t seed_;
  int step_ = 0;
  std::map<int, Batch> made_;
};

/// What is recorded of one step.
struct StepRecord {
  PassTimes pass;
  Seconds reduction{0};
  Seconds optimizer{0};
  Seconds whole{0};
  double loss = 0.0;  ///< mean over the global batch's tokens
};

/// Median of one figure over the measured steps.
template <class Get>
Seconds median(const std::vector<StepRecord>& steps, Get get) {
  std::vector<double> values;
  for (const StepRecord& step : steps) values.push_back(get(step).count());
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return Seconds(values.size() % 2 == 1 ? values[middle]
                                        : 0.5 * (values[middle - 1] + values[middle]));
}

class RankRun {
 public:
  RankRun(const RunJob& job, const Plan& plan, Transport& transport, Whereabouts& whereabouts)
      : job_(job),
        plan_(plan),
        transport_(transport),
        whereabouts_(whereabouts),
        store_(job.seed, at::kCPU),
        text_(job.data, plan.constraints.sequence, plan.model.vocabulary),
        batches_(text_, plan.micro_batches, job.seed),
        schedule_(planner::with_communication(planner::planned_schedule(plan))),
        shared_(shared_weights(plan, transport.rank())) {
    const auto tables = std::make_shared<RopeTables>(at::kCPU);
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
      const PlanStage& part = plan.stages[stage];
      if (part.rank != transport.rank()) continue;
      stages_[static_cast<int>(stage)] = std::make_unique<StageModule>(
          plan.model, part.first_layer, part.layer_count, store_, tables);
    }
    load_weights(job, store_);
    optimizer_.emplace(store_, AdamWOptions{.learning_rate = job.learning_rate});
    interpreter_.emplace(
        schedule_, stages_, transport,
        BoundaryShape{plan.micro_batches, plan.constraints.sequence, plan.model.hidden});
  }

  StepRecord step(int number) {
    StepRecord record;
    batches_.begin(number);
    const double token_count = static_cast<double>(plan_.constraints.global_batch) *
                               static_cast<double>(plan_.constraints.sequence);
    const Clock::time_point start = Clock::now();
    try {
      record.pass = interpreter_->run(
          [this](int micro_batch) -> const Batch& { return batches_.get(micro_batch); },
          1.0 / token_count);
    } catch (...) {
      whereabouts_.where = "step " + std::to_string(number) + ", " + interpreter_->running();
      throw;
    }
    whereabouts_.where = "step " + std::to_string(number) + ", gradient reduction";
    const Clock::time_point own_passed = Clock::now();
    meet_peers(shared_, transport_);
    const Clock::time_point passed = Clock::now();
    record.pass.idle += passed - own_passed;
    reduce_shared_gradients(shared_, store_, transport_);
    const Clock::time_point reduced = Clock::now();
    record.reduction = reduced - passed;
    if (number == 0 && job_.verify) verify();
    whereabouts_.where = "step " + std::to_string(number) + ", optimizer";
    const Clock::time_point verified = Clock::now();
    optimizer_->step();
    store_.clear_gradients();
    record.optimizer = Clock::now() - verified;
    // Every rank learns the loss, and none starts the next step before all are through this one.
    record.loss = transport_.sum({interpreter_->loss()})[0] / token_count;
    record.whole = Clock::now() - start;
    return record;
  }

  [[nodiscard]] const std::optional<GradientCheck>& gradients() const { return gradients_; }
  [[nodiscard]] bool has_loss() const {
    return stages_.contains(static_cast<int>(plan_.stages.size()) - 1);
  }
  [[nodiscard]] int first_stage() const { return stages_.begin()->first; }

 private:
  void verify() {
    whereabouts_.where = "verification";
    const WeightFiles reference(fs::path(job_.output) / kReferenceFile);
    gradients_ = check_gradients(store_, reference, job_.tolerance);
  }

  const RunJob& job_;
  const Plan& plan_;
  Transport& transport_;
  Whereabouts& whereabouts_;
  ParameterStore store_;
  ByteText text_;
  StepBatches batches_;
  planner::Schedule schedule_;
  std::vector<SharedWeight> shared_;
  std::map<int, std::unique_ptr<StageModule>> stages_;
  std::optional<AdamW> optimizer_;
  std::optional<Interpreter> interpreter_;
  std::optional<GradientCheck> gradients_;
};

}  // namespace

RankReport run_rank(const RunJob& job, const Plan& plan, Transport& transport, Progress& progress,
                    Whereabouts& whereabouts) {
  const c10::InferenceMode no_autograd;  // every backward here is our own
  RankRun run(job, plan, transport, whereabouts);
  const int step_count = job.warmup_step_count + job.step_count;
  progress.start("run", step_count);
  transport.sum({0.0});  // all are built

  RankReport report;
  report.rank = transport.rank();
  report.stage = run.first_stage();
  std::vector<StepRecord> measured;
  for (int number = 0; number < step_count; ++number) {
    if (number == job.warmup_step_count) reset_peak_memory();
    const StepRecord record = run.step(number);
    report.step_s.push_back(record.whole.count());
    if (run.has_loss()) report.losses.push_back(record.loss);
    if (number >= job.warmup_step_count) measured.push_back(record);
    progress.advance(number + 1, step_count, "loss " + std::to_string(record.loss));
  }
  progress.finish();
  whereabouts.where = "report";
  report.peak = peak_memory();
  report.resident = peak_resident();
  report.forward = median(measured, [](const StepRecord& s) { return s.pass.forward; });
  report.backward = median(measured, [](const StepRecord& s) { return s.pass.backward; });
  report.communication = median(measured, [](const StepRecord& s) { return s.pass.communication; });
  report.idle = median(measured, [](const StepRecord& s) { return s.pass.idle; });
  report.reduction = median(measured, [](const StepRecord& s) { return s.reduction; });
  report.optimizer = median(measured, [](const StepRecord& s) { return s.optimizer; });
  report.gradients = run.gradients();
  return report;
}

ReferenceReport run_reference_job(const RunJob& job, const Plan& plan, Progress& progress) {
  progress.start("reference", 1);
  ParameterStore store(job.seed, at::kCPU);
  make_all_parameters(plan.model, store);
  load_weights(job, store);
  const ByteText text(job.data, plan.constraints.sequence, plan.model.vocabulary);
  std::vector<Batch> slices;
  const auto batch = static_cast<int>(plan.constraints.global_batch);
  for (int first = 0; first < batch; first += plan.micro_batch) {
    slices.push_back(
        text.samples(job.seed, /*step=*/0, first, std::min(plan.micro_batch, batch - first)));
  }
  const Clock::time_point start = Clock::now();
  const ReferenceResult result = run_reference(plan.model, store, slices);
  ReferenceReport report;
  report.step = Clock::now() - start;
  report.loss = result.loss;
  report.token_count = result.token_count;
  report.peak = peak_memory();
  write_safetensors(fs::path(job.output) / kReferenceFile, result.gradients);
  progress.finish();
  return report;
}

}  // namespace ppplan::executor
