#include "planner/infeasible.h"

#include "planner/cut_search.h"
#include "planner/schedule/generators.h"
#include "planner/size_search.h"
#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <memory>
#include <optional>

namespace ppplan::planner {
namespace {

/// Of very many sizes so many are looked at.
constexpr std::size_t kNearestSizes = 8;
/// Of more shapes no other schedule is tried.
constexpr std::size_t kFewShapes = 64;

/// Whether a changed question has a plan; not when the change leaves the profile.
bool would_fit(const Question& question) {
  try {
    return nearest_fit(question).fits();
  } catch (const Error&) {
    return false;
  }
}

std::optional<std::string> smaller_micro_batch(Question question) {
  if (!question.micro_batch) return std::nullopt;
  const int pinned = *question.micro_batch;
  for (int size = pinned - 1; size >= 1; --size) {
    question.micro_batch = size;
    if (would_fit(question)) return fmt::format("--micro-batch {}", size);
  }
  return std::nullopt;
}

/// One more stage at a time at first, then doubling: the least of the next 16 is exact. Of a single
/// pipeline only: other layouts were all looked at.
std::optional<std::string> more_stages(Question question) {
  const auto layer_count = static_cast<int>(question.profile->model.layers.size());
  const PipelineShape widest = question.shapes.back();
  if (question.profile->links.empty() || widest.layout != Layout{}) return std::nullopt;
  const int most = widest.rank_count;
  for (int count = most + 1; count <= layer_count; count += count < most + 16 ? 1 : count) {
    question.shapes = {{.layout = {}, .rank_count = count}};
    if (would_fit(question)) return fmt::format("--stages {}", count);
  }
  return std::nullopt;
}

std::optional<std::string> other_schedule(Question question) {
  const std::vector<std::string> allowed = question.schedules;
  if (question.forward_only || question.shapes.size() > kFewShapes) return std::nullopt;
  for (const std::string& name : schedule_names()) {
    if (std::ranges::find(allowed, name) != allowed.end()) continue;
    question.schedules = {name};
    if (would_fit(question)) return fmt::format("--schedule {}", name);
  }
  return std::nullopt;
}

std::optional<std::string> shorter_sequence(Question question) {
  std::vector<std::int64_t> sequences = measured_sequences(*question.profile);
  std::ranges::reverse(sequences);
  const std::int64_t asked = question.sequence;
  for (const std::int64_t sequence : sequences) {
    if (sequence >= asked) continue;
    question.sequence = sequence;
    question.book = std::make_shared<CostBook>(*question.profile, sequence,
                                               question.devices_per_node(), question.forward_only);
    if (would_fit(question)) return fmt::format("--sequence {}", sequence);
  }
  return std::nullopt;
}

/// The limit that lets the nearest plan in, rounded up to whole MiB.
std::string more_memory(const Question& question, const NearestFit& nearest) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  const Bytes whole = nearest.needed + question.reserve;
  const std::int64_t mebibytes = (whole.count + kMiB - 1) / kMiB;
  return question.memory ? fmt::format("--memory {}MiB", mebibytes)
                         : fmt::format("devices of {} MiB", mebibytes);
}

}  // namespace

NearestFit nearest_fit(const Question& question) {
  NearestFit nearest;
  double least = kUnreachable;
  std::optional<Error> refusal;
  for (const Size& size : leanest_sizes(question, kNearestSizes)) {
    const Offer offered = offer(question, make_basis(question, size));
    if (offered.refusal) refusal = offered.refusal;
    for (const Candidate& candidate : offered.candidates) {
      const std::optional<Bottleneck> found = leanest_cut(candidate, least);
      if (!found) continue;
      least = found->bound;
      const Evaluation evaluation = candidate.evaluate(found->cut);
      const int rank = evaluation.fullest_rank(candidate.allowed());
      const MemoryBreakdown& memory = evaluation.memory[static_cast<std::size_t>(rank)];
      nearest = {.candidate = std::make_shared<const Candidate>(candidate),
                 .cut = found->cut,
                 .schedule = candidate.schedule().name,
                 .micro_batch = candidate.micro_batch(),
                 .rank_count = size.shape.rank_count,
                 .rank = rank,
                 .needed = memory.total(),
                 .kept = memory.parameters + memory.gradients + memory.optimizer_state,
                 .allowed = candidate.allowed()[static_cast<std::size_t>(rank)]};
    }
  }
  if (nearest.cut.empty()) throw *refusal;  // no schedule serves any shape
  return nearest;
}

Infeasible explain_infeasible(const Question& question, const NearestFit& nearest) {
  assert(!nearest.fits());
  Infeasible answer{
      .rank = nearest.rank,
      .needed = nearest.needed,
      .allowed = nearest.allowed,
      .reason = fmt::format(
          "no plan fits the memory: at best rank {} of {} needs {} ({} of them parameters, "
          "gradients "
          "and optimizer state), and {} are allowed ({}, micro-batches of {}, {} tokens)",
          nearest.rank, nearest.rank_count, human(nearest.needed), human(nearest.kept),
          human(nearest.allowed), nearest.schedule, nearest.micro_batch, question.sequence),
      .remedies = {}};
  for (const auto& remedy : {smaller_micro_batch(question), other_schedule(question),
                             more_stages(question), shorter_sequence(question)}) {
    if (remedy) answer.remedies.push_back(*remedy);
  }
  answer.remedies.push_back(more_memory(question, nearest));
  return answer;
}

}  // namespace ppplan::planner
