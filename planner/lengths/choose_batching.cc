#include "planner/lengths/choose_batching.h"

#include "planner/lengths/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace ppplan::planner {
namespace {

constexpr std::array kMethods = {BatchingMethod::kPadded, BatchingMethod::kBucketed,
                                 BatchingMethod::kPacked, BatchingMethod::kDynamic};

std::string name_of(BatchingMethod method) {
  return batching_method_words()[static_cast<std::size_t>(method)];
}

std::string too_much(const Trial& trial) {
  return fmt::format("rank {} needs {} of {}, {} bytes too many", trial.rank, human(trial.needed),
                     human(trial.allowed), trial.excess().count);
}

/// Why a trial is not the chosen one.
std::string why_not(const Trial& trial, const Trial& chosen) {
  if (trial.refusal) return *trial.refusal;
  if (!trial.fits()) return too_much(trial);
  const double percent = 100.0 * (1.0 - trial.outcome.tokens_per_s / chosen.outcome.tokens_per_s);
  if (percent >= 0.05) return fmt::format("{:.1f} % slower", percent);
  if (percent <= -0.05) return fmt::format("{:.1f} % faster, not asked for", -percent);
  return "as fast";
}

/// Whether what is left of the question has an answer.
bool answered(const Profile& profile, const Planned& planned,
              const std::vector<std::int64_t>& lengths, const BatchingQuestion& question) {
  return std::holds_alternative<Batching>(choose_batching(profile, planned, lengths, question));
}

/// Each pinned thing that stands alone in the way, and the memory that would do.
std::vector<std::string> remedies(const Profile& profile, const Planned& planned,
                                  const std::vector<std::int64_t>& lengths,
                                  const BatchingQuestion& question, const Trial& nearest) {
  std::vector<std::string> found;
  const auto try_without = [&](bool pinned, const auto& release, const std::string& remedy) {
    if (!pinned) return;
    BatchingQuestion released = question;
    release(released);
    if (answered(profile, planned, lengths, released)) found.push_back(remedy);
  };
  try_without(
      question.memory_pool == MemoryPool::kStatic,
      [](BatchingQuestion& asked) { asked.memory_pool = MemoryPool::kDynamic; },
      "--memory-pool dynamic");
  try_without(
      question.method.has_value(), [](BatchingQuestion& asked) { asked.method.reset(); },
      "--batching auto");
  try_without(
      question.max_tokens.has_value(), [](BatchingQuestion& asked) { asked.max_tokens.reset(); },
      "no --max-tokens");
  try_without(
      question.micro_batch.has_value(), [](BatchingQuestion& asked) { asked.micro_batch.reset(); },
      "no --micro-batch");
  if (nearest.refusal) return found;
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  const std::int64_t mebibytes = (nearest.needed.count + kMiB - 1) / kMiB;
  found.push_back(planned.plan.constraints.memory ? fmt::format("--memory {}MiB", mebibytes)
                                                  : fmt::format("devices of {} MiB", mebibytes));
  found.push_back("a shorter --max-sequence-length");
  return found;
}

}  // namespace

std::variant<Batching, Unbatchable> choose_batching(const Profile& profile, const Planned& planned,
                                                    const std::vector<std::int64_t>& lengths,
                                                    const BatchingQuestion& question) {
  Comparison comparison(profile, planned, lengths, question);
  std::vector<Trial> trials;
  for (const BatchingMethod method : kMethods) trials.push_back(comparison.best_of(method));
  const auto allowed = [&](const Trial& trial) {
    return !question.method || trial.candidate.batching.method == *question.method;
  };
  const auto rank_of = [&](const Trial& trial) {
    return std::tuple(!allowed(trial), trial.refusal.has_value(), !trial.fits(),
                      trial.fits() ? Bytes{0} : trial.excess(), -trial.outcome.tokens_per_s);
  };
  const Trial& chosen = *std::ranges::min_element(trials, {}, rank_of);
  if (!chosen.fits()) {
    const std::string method = name_of(chosen.outcome.method);
    return Unbatchable{
        .reason = chosen.refusal
                      ? fmt::format("{} batching: {}", method, *chosen.refusal)
                      : fmt::format("{}: with {} batching of {} {}",
                                    question.method ? "the batching does not fit the memory"
                                                    : "no batching fits the memory",
                                    method, chosen.outcome.setting, too_much(chosen)),
        .remedies = remedies(profile, planned, lengths, question, chosen)};
  }
  Batching batching = chosen.candidate.batching;
  for (const Trial& trial : trials) {
    batching.compared.push_back(trial.outcome);
    if (&trial != &chosen) batching.compared.back().reason = why_not(trial, chosen);
  }
  return batching;
}

CutLengths cut_to(std::vector<std::int64_t> lengths, std::int64_t longest) {
  CutLengths cut{.lengths = std::move(lengths), .cut_count = 0};
  for (std::int64_t& length : cut.lengths) {
    if (length <= longest) continue;
    length = longest;
    ++cut.cut_count;
  }
  return cut;
}

}  // namespace ppplan::planner
