#include "planner/lengths/comparison.h"

#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

namespace ppplan::planner {
namespace {

/// Batches are sampled until they hold so many samples, within these numbers.
constexpr std::int64_t kSampledSamples = 32'768;
constexpr std::int64_t kFewestBatches = 8;
constexpr std::int64_t kUsualBatches = 50;
/// Of them, those on which candidates are compared before the best is judged on all.
constexpr std::int64_t kTuningSamples = 8'192;
constexpr std::int64_t kFewestTuningBatches = 2;
constexpr std::int64_t kMostTuningBatches = 8;
/// From how much on an order is faster, and not only rounded otherwise.
constexpr double kGain = 1.0 + 1e-6;

[[noreturn]] void refuse(const std::string& message, const std::string& hint) {
  throw Error(Failure::kBadInput, message, hint);
}

/// The question, with what contradicts itself refused.
const BatchingQuestion& checked(const BatchingQuestion& question, const Plan& plan) {
  if (question.global_batch < 1 || question.global_batch > kMostBatchedSamples) {
    refuse(fmt::format("--global-batch {}: expected 1 to {} samples with lengths of their own",
                       question.global_batch, kMostBatchedSamples),
           "ask for a smaller batch");
  }
  if (question.batch_count && (*question.batch_count < 1 || *question.batch_count > kMostBatches)) {
    refuse(
        fmt::format("--sampled-batches {}: expected 1 to {}", *question.batch_count, kMostBatches),
        "");
  }
  if (question.micro_batch && *question.micro_batch < 1) {
    refuse(fmt::format("--micro-batch {}: must be at least 1", *question.micro_batch), "");
  }
  if (!plan.actions.empty()) {
    refuse(
        "an order made for one number of micro-batches does not serve samples of different "
        "lengths",
        "allow named schedules only: --schedule 1f1b");
  }
  if (plan.layout.data_parallel > 1) {
    refuse(
        "samples of different lengths are planned for one pipeline, not for several side by side",
        "leave --lengths away, or ask for --data-parallel 1");
  }
  return question;
}

void check_measured(const ShapeGrid& grid, const std::vector<std::int64_t>& lengths,
                    const BatchingQuestion& question) {
  const std::int64_t longest = std::ranges::max(lengths);
  if (longest > grid.longest()) {
    refuse(
        fmt::format("the longest sample has {} tokens, and the profile measured up to {}", longest,
                    grid.longest()),
        fmt::format("measure it: ppplan profile ... --sequence-lengths {}, or cut samples as the "
                    "trainer will: --max-sequence-length {}",
                    longest, grid.longest()));
  }
  if (!question.max_tokens) return;
  if (*question.max_tokens < 1) {
    refuse(fmt::format("--max-tokens {}: must be at least 1", *question.max_tokens), "");
  }
  if (*question.max_tokens > grid.most_tokens()) {
    refuse(fmt::format("--max-tokens {}: the profile measured micro-batches of up to {} tokens",
                       *question.max_tokens, grid.most_tokens()),
           "measure larger ones: ppplan profile ... --micro-batches SIZES");
  }
}

int sampled_count(const BatchingQuestion& question) {
  const std::int64_t wanted =
      std::clamp(kSampledSamples / question.global_batch, kFewestBatches, kUsualBatches);
  return question.batch_count.value_or(static_cast<int>(wanted));
}

std::vector<Batching> orders_of(const Batching& batching) {
  std::vector<Batching> orders;
  std::vector<int> order = {0, 1, 2};
  do {
    for (const RunOrder within : {RunOrder::kRising, RunOrder::kFalling}) {
      orders.push_back(batching);
      orders.back().order = order;
      orders.back().order_within = within;
    }
  } while (std::ranges::next_permutation(order).found);
  return orders;
}

/// Faster first of those that fit; then what comes nearest; at the end what cannot be.
bool better(const Trial& one, const Trial& other) {
  const auto key = [](const Trial& trial) {
    return std::tuple(trial.refusal.has_value(), !trial.fits(),
                      trial.fits() ? Bytes{0} : trial.excess(), -trial.outcome.tokens_per_s);
  };
  return key(one) < key(other);
}

void raise(std::vector<Bytes>& peaks, const std::vector<Bytes>& others) {
  peaks.resize(others.size());
  for (std::size_t rank = 0; rank < others.size(); ++rank) {
    peaks[rank] = std::max(peaks[rank], others[rank]);
  }
}

}  // namespace

Comparison::Comparison(const Profile& profile, const Planned& planned,
                       const std::vector<std::int64_t>& lengths, const BatchingQuestion& question)
    : question_(checked(question, planned.plan)),
      allowed_(planned.allowed),
      model_(profile, planned) {
  check_measured(model_.surface().grid(), lengths, question);
  basis_ = {.lengths = &lengths,
            .question = &question,
            .grid = &model_.surface().grid(),
            .times = model_.surface().slowest_times(),
            .rank_count = model_.rank_count(),
            .batch_count = sampled_count(question)};
  batches_ = sample_batches(lengths, question.global_batch, basis_.batch_count, question.seed);
  tuning_count_ = static_cast<std::size_t>(std::min<std::int64_t>(
      basis_.batch_count, std::clamp(kTuningSamples / question.global_batch, kFewestTuningBatches,
                                     kMostTuningBatches)));
  longest_batch_ = longest_batch(lengths, question.global_batch);
}

const std::vector<std::int64_t>& Comparison::lengths_of(std::size_t at, std::size_t count) const {
  return at + 1 == count ? longest_batch_ : batches_[at];
}

Comparison::MadeBatches Comparison::make(const Batching& batching, std::size_t batch_count) const {
  MadeBatches made;
  for (std::size_t at = 0; at <= batch_count; ++at) {
    made.push_back(
        make_micro_batches(lengths_of(at, batch_count + 1), batching, model_.rank_count()));
  }
  return made;
}

Trial Comparison::judge(const BatchingCandidate& candidate, const MadeBatches& made) {
  Trial trial{.candidate = candidate};
  BatchingOutcome& outcome = trial.outcome;
  outcome.method = candidate.batching.method;
  outcome.setting = candidate.setting;
  const auto count = static_cast<double>(made.size() - 1);
  std::int64_t tokens = 0;
  std::int64_t padded_tokens = 0;
  std::vector<StageCost> largest;
  std::set<int> counts;
  std::int64_t micro_batch_sum = 0;
  for (std::size_t at = 0; at < made.size(); ++at) {
    const std::vector<MicroBatch>& micro_batches = made[at];
    const auto micro_batch_count = static_cast<int>(micro_batches.size());
    const auto& schedule = model_.schedule(micro_batch_count);
    if (const auto* refusal = std::get_if<Unschedulable>(&schedule)) {
      trial.refusal = refusal->reason;
      return trial;
    }
    const ScheduleCosts costs = model_.costs(micro_batches, lengths_of(at, made.size()));
    raise(outcome.dynamic_peaks, model_.dynamic_peaks(std::get<Schedule>(schedule), costs));
    enlarge(largest, costs);
    counts.insert(micro_batch_count);
    if (at + 1 == made.size()) break;  // the longest samples: for memory only
    outcome.step += model_.step(std::get<Schedule>(schedule), costs) / count;
    micro_batch_sum += micro_batch_count;
    for (const MicroBatch& one : micro_batches) {
      tokens += one.tokens;
      padded_tokens += one.padded_tokens();
    }
  }
  outcome.micro_batch_count = static_cast<double>(micro_batch_sum) / count;
  const double step_s = outcome.step.count();
  if (step_s > 0.0) outcome.tokens_per_s = static_cast<double>(tokens) / count / step_s;
  outcome.padding_efficiency = static_cast<double>(tokens) / static_cast<double>(padded_tokens);
  judge_memory(trial, largest, counts);
  return trial;
}

void Comparison::judge_memory(Trial& trial, const std::vector<StageCost>& largest,
                              const std::set<int>& micro_batch_counts) {
  BatchingOutcome& outcome = trial.outcome;
  for (const int count : micro_batch_counts) {
    raise(outcome.static_peaks,
          model_.static_peaks(std::get<Schedule>(model_.schedule(count)), largest));
  }
  const std::vector<Bytes>& peaks =
      question_.memory_pool == MemoryPool::kStatic ? outcome.static_peaks : outcome.dynamic_peaks;
  for (std::size_t rank = 0; rank < peaks.size(); ++rank) {
    if (rank > 0 && peaks[rank] - allowed_[rank] <= trial.excess()) continue;
    trial.rank = static_cast<int>(rank);
    trial.needed = peaks[rank];
    trial.allowed = allowed_[rank];
  }
}

BatchingCandidate Comparison::with_best_order(const Trial& trial) {
  const MadeBatches made = make(trial.candidate.batching, tuning_count_);
  Trial best = trial;
  for (const Batching& batching : orders_of(trial.candidate.batching)) {
    MadeBatches reordered;
    for (const auto& batch : made) reordered.push_back(in_order(batch, batching));
    Trial tried = judge({batching, trial.candidate.setting}, reordered);
    // Of orders as good as each other the plainest.
    const bool gains = tried.fits() && best.fits()
                           ? tried.outcome.tokens_per_s > kGain * best.outcome.tokens_per_s
                           : better(tried, best);
    if (gains) best = std::move(tried);
  }
  return best.candidate;
}

void Comparison::add_stalls(BatchingOutcome& outcome, const MadeBatches& made) {
  const auto count = static_cast<double>(made.size() - 1);
  outcome.rank_stalls.assign(allowed_.size(), Seconds(0));
  for (std::size_t at = 0; at + 1 < made.size(); ++at) {
    const auto& schedule = model_.schedule(static_cast<int>(made[at].size()));
    const Stall stall = model_.stall(std::get<Schedule>(schedule),
                                     model_.costs(made[at], lengths_of(at, made.size())));
    outcome.stall += stall.step / count;
    for (std::size_t rank = 0; rank < stall.ranks.size(); ++rank) {
      outcome.rank_stalls[rank] += stall.ranks[rank] / count;
    }
  }
  const Seconds rounding = 1e-9 * outcome.step;
  const auto cleared = [&](Seconds stall) { return stall > rounding ? stall : Seconds(0); };
  outcome.stall = cleared(outcome.stall);
  for (Seconds& stall : outcome.rank_stalls) stall = cleared(stall);
}

Trial Comparison::best_of(BatchingMethod method) {
  std::vector<Trial> trials;
  for (const BatchingCandidate& candidate : batching_candidates(method, basis_)) {
    trials.push_back(judge(candidate, make(candidate.batching, tuning_count_)));
  }
  if (trials.empty()) {
    Trial none;
    none.candidate.batching.method = method;
    none.outcome.method = method;
    none.refusal = fmt::format("of samples of {} tokens at most {} in a micro-batch were measured",
                               std::ranges::max(*basis_.lengths),
                               basis_.grid->most_samples(std::ranges::max(*basis_.lengths)));
    return none;
  }
  std::ranges::stable_sort(trials, better);
  std::optional<Trial> nearest;
  for (const Trial& trial : trials) {
    if (nearest && !trial.fits()) break;
    if (trial.refusal) return trial;
    const BatchingCandidate candidate = with_best_order(trial);
    const MadeBatches made = make(candidate.batching, batches_.size());
    Trial judged = judge(candidate, made);
    if (!judged.refusal) add_stalls(judged.outcome, made);
    const bool fits = judged.fits();
    if (!nearest || better(judged, *nearest)) nearest = std::move(judged);
    if (fits) break;
  }
  return *nearest;
}

}  // namespace ppplan::planner
