// Batching of samples of different lengths: how long one batch takes to divide, and what the
// methods come to on published distributions of lengths with a made-up profile.
#include "planner/lengths/choose_batching.h"
#include "planner/lengths/sampled_batches.h"
#include "planner/lengths/stage_surface.h"
#include "planner/partition.h"
#include "planner/schedule/dynamic_batching.h"
#include "reports/documents/file.h"
#include "reports/documents/lengths.h"
#include "tests/support/attention_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace ppplan::planner {
namespace {

using Clock = std::chrono::steady_clock;

Planned plan_for(const Profile& profile, std::int64_t global_batch, std::int64_t longest) {
  auto answer = partition(profile, {.stage_count = static_cast<int>(profile.devices.size()),
                                    .global_batch = global_batch,
                                    .sequence = longest,
                                    .schedules = {"1f1b"}});
  return std::get<Planned>(std::move(answer));
}

void divide(const Profile& profile, const std::vector<std::int64_t>& lengths) {
  fmt::print("dividing one batch: samples, ranks, micro-batches, median ms of 20 batches\n");
  for (const std::int64_t samples : {64, 512, 2048}) {
    const Planned planned = plan_for(profile, samples, std::ranges::max(lengths));
    const TimeSurface times(StageSurface(profile, planned).slowest_times());
    std::vector<double> took_ms;
    std::size_t count = 0;
    for (auto batch : sample_batches(lengths, samples, 20, 1)) {
      std::ranges::sort(batch);
      const auto start = Clock::now();
      const SampleRuns runs = divide_samples(batch, times, times.grid().most_tokens(),
                                             static_cast<int>(planned.plan.ranks.size()));
      took_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
      count = runs.ends.size();
    }
    std::ranges::sort(took_ms);
    fmt::print("  {:5} {:3} {:5} {:8.3f}\n", samples, planned.plan.ranks.size(), count,
               took_ms[took_ms.size() / 2]);
  }
}

void compare(const Profile& profile, const std::string& name, std::vector<std::int64_t> all,
             std::int64_t global_batch) {
  const CutLengths cut = cut_to(std::move(all), 8192);
  const Planned planned = plan_for(profile, global_batch, std::ranges::max(cut.lengths));
  const auto start = Clock::now();
  const auto answer =
      choose_batching(profile, planned, cut.lengths, {.global_batch = global_batch});
  const double took_s = std::chrono::duration<double>(Clock::now() - start).count();
  fmt::print("{}: {} samples a step, {} ranks, {} cut; compared in {:.2f} s\n", name, global_batch,
             planned.plan.ranks.size(), cut.cut_count, took_s);
  if (const auto* batching = std::get_if<Batching>(&answer)) {
    for (const BatchingOutcome& one : batching->compared) {
      fmt::print(
          "  {:9} {:24} {:6.1f} micro-batches {:9.0f} tokens/s, padding efficiency {:.3f}, "
          "step {}, stall {} {}\n",
          batching_method_words()[static_cast<std::size_t>(one.method)], one.setting,
          one.micro_batch_count, one.tokens_per_s, one.padding_efficiency, ppplan::human(one.step),
          ppplan::human(one.stall),
          one.reason.empty()
              ? fmt::format("<- order {}{}{} {}", batching->order[0], batching->order[1],
                            batching->order[2],
                            run_order_words()[static_cast<std::size_t>(batching->order_within)])
              : one.reason);
    }
  } else {
    fmt::print("  {}\n", std::get<Unbatchable>(answer).reason);
  }
}

void run() {
  const Profile profile = testing::attention_profile({.block_count = 22, .device_count = 8});
  const std::filesystem::path folder = std::filesystem::path(PPPLAN_SHARED_ROOT) / "data/lengths";
  for (const std::string name : {"multitask_mix", "arxiv_summarization_llama2tok",
                                 "azure_conv_2023", "gsm8k_test_gpt2bpe"}) {
    const std::filesystem::path file = folder / (name + ".txt");
    if (!std::filesystem::exists(file)) {
      fmt::print("skipped: {} is not here\n", name);
      continue;
    }
    const std::vector<std::int64_t> lengths = read_lengths(read_file(file), file.string());
    if (name == "multitask_mix") divide(profile, lengths);
    for (const std::int64_t global_batch : {64, 512, 4096})
      compare(profile, name, lengths, global_batch);
  }
}

}  // namespace
}  // namespace ppplan::planner

int main() {
  ppplan::planner::run();
}
