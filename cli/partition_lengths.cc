#include "cli/partition_lengths.h"

#include "planner/cost_table.h"
#include "planner/lengths/choose_batching.h"
#include "reports/documents/batching.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/lengths.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

namespace ppplan::cli {
namespace {

constexpr const char* kAuto = "auto";

/// CLI11 has checked the word.
template <typename Enumerator>
Enumerator enumerator_of(const std::string& word, const std::vector<std::string>& words) {
  return static_cast<Enumerator>(std::ranges::find(words, word) - words.begin());
}

std::vector<std::string> batching_words() {
  std::vector<std::string> words = batching_method_words();
  words.emplace_back(kAuto);
  return words;
}

}  // namespace

const char* LengthsQuestion::option_without_lengths() const {
  if (!file.empty()) return nullptr;
  if (!column.empty()) return "--lengths-column";
  if (!batching.empty()) return "--batching";
  if (!memory_pool.empty()) return "--memory-pool";
  if (max_tokens) return "--max-tokens";
  if (longest) return "--max-sequence-length";
  if (batch_count) return "--sampled-batches";
  return nullptr;
}

std::int64_t SampleLengths::planned_sequence(const Profile& profile) const {
  const std::vector<std::int64_t> measured = planner::measured_sequences(profile);
  const std::int64_t longest = std::ranges::max(lengths);
  return measured.empty() ? longest : std::clamp(longest, measured.front(), measured.back());
}

void add_lengths_options(CLI::App& verb, LengthsQuestion& question) {
  verb.add_option(
          "--lengths", question.file,
          "Tokens of the samples, one number a line: plans micro-batches for them too; - is "
          "standard input")
      ->option_text("FILE");
  verb.add_option("--lengths-column", question.column,
                  "The file of lengths is CSV: take the column of this name")
      ->option_text("NAME");
  verb.add_option(
          "--batching", question.batching,
          "How samples become micro-batches: padded, bucketed, packed or dynamic; auto: the "
          "fastest")
      ->check(CLI::IsMember(batching_words()))
      ->option_text("METHOD");
  verb.add_option("--max-tokens", question.max_tokens,
                  "Tokens of a micro-batch, padding included; not given: the best")
      ->option_text("T");
  verb.add_option("--max-sequence-length", question.longest,
                  "Longer samples count as cut to so many tokens")
      ->option_text("S");
  verb.add_option("--memory-pool", question.memory_pool,
                  "What must fit: static, every buffer for the largest micro-batch; dynamic, each "
                  "for its own (default)")
      ->check(CLI::IsMember(memory_pool_words()))
      ->option_text("POOL");
  verb.add_option("--sampled-batches", question.batch_count,
                  "Steps drawn from the lengths to compare on (default: 50; fewer for large ones)")
      ->option_text("N");
}

std::optional<SampleLengths> read_samples(const LengthsQuestion& question) {
  if (question.file.empty()) return std::nullopt;
  if (question.longest && *question.longest < 1) {
    throw Error(Failure::kBadInput,
                fmt::format("--max-sequence-length {}: must be at least 1", *question.longest));
  }
  const std::string text = read_file(question.file);
  std::optional<std::string> column;
  if (!question.column.empty()) column = question.column;
  std::vector<std::int64_t> lengths = read_lengths(text, question.file, column);
  if (!question.longest) return SampleLengths{.lengths = std::move(lengths)};
  planner::CutLengths cut = planner::cut_to(std::move(lengths), *question.longest);
  return SampleLengths{.lengths = std::move(cut.lengths), .cut_count = cut.cut_count};
}

void plan_batching(planner::Planned& planned, const Profile& profile, const SampleLengths& samples,
                   const LengthsQuestion& question) {
  planner::BatchingQuestion asked{.global_batch = planned.plan.constraints.global_batch,
                                  .max_tokens = question.max_tokens,
                                  .micro_batch = planned.plan.constraints.micro_batch,
                                  .batch_count = question.batch_count};
  if (!question.batching.empty() && question.batching != kAuto) {
    asked.method = enumerator_of<BatchingMethod>(question.batching, batching_method_words());
  }
  if (!question.memory_pool.empty()) {
    asked.memory_pool = enumerator_of<MemoryPool>(question.memory_pool, memory_pool_words());
  }
  auto answer = planner::choose_batching(profile, planned, samples.lengths, asked);
  if (const auto* none = std::get_if<planner::Unbatchable>(&answer)) {
    throw Error(Failure::kNoPlan, none->reason,
                none->remedies.empty() ? ""
                                       : fmt::format("any of these may make it fit: {}",
                                                     fmt::join(none->remedies, ", ")));
  }
  planned.plan.batching = std::get<Batching>(std::move(answer));
  planned.plan.batching->cut_samples = samples.cut_count;
}

}  // namespace ppplan::cli
