#include "cli/partition_sweep.h"

#include "planner/cost_table.h"
#include "planner/utilization.h"
#include "reports/documents/error.h"
#include "reports/documents/scalar.h"
#include "reports/render/sweep_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

namespace ppplan::cli {
namespace {

constexpr int kMostDevices = 65'536;
constexpr std::size_t kMostPoints = 256;

[[noreturn]] void refuse_range(const std::string& text) {
  throw Error(Failure::kBadInput,
              fmt::format("--sweep-devices: expected numbers from 1 to {}, found '{:.60}'",
                          kMostDevices, text),
              "give a range, 8..1024, for the powers of two in it, or a list: 8,24,64");
}

int count_of(const std::string& text, const std::string& whole) {
  const std::optional<std::int64_t> count = to_integer(text);
  if (!count || *count < 1 || *count > kMostDevices) refuse_range(whole);
  return static_cast<int>(*count);
}

/// The fastest way without a pipeline that fits.
std::optional<Rival> best_flat(const Plan& plan) {
  std::optional<Rival> best;
  for (const Rival& rival : plan.rivals) {
    if (!rival.fits || rival.layout.starts_with("pipeline")) continue;
    if (!best || rival.step < best->step) best = rival;
  }
  return best;
}

render::SweepPoint point_of(const Profile& profile, planner::PartitionOptions options,
                            int device_count, double flops_per_token) {
  render::SweepPoint point{.device_count = device_count};
  options.device_count = device_count;
  try {
    auto answer = planner::partition(profile, options);
    if (const auto* none = std::get_if<planner::Infeasible>(&answer)) {
      point.why_not = none->reason;
      if (!none->remedies.empty()) {
        point.why_not +=
            fmt::format("; any one of these makes it fit: {}", fmt::join(none->remedies, ", "));
      }
      return point;
    }
    Plan& plan = std::get<planner::Planned>(answer).plan;
    planner::set_utilization(plan, profile, flops_per_token);
    point.plan = planner::as_rival(plan);
    point.schedule = plan.schedule;
    point.mfu = plan.predicted.mfu;
    point.worth_it = plan.verdict.worth_it;
    point.other = best_flat(plan);
  } catch (const Error& error) {
    point.why_not = error.what();  // of this number only: the pins suit another
    if (point.why_not.empty()) point.why_not = "no plan";
  }
  return point;
}

/// All points, planned by two threads that each take the next one. The largest take longest and
/// come first.
std::vector<render::SweepPoint> plan_points(const Profile& profile,
                                            const planner::PartitionOptions& options,
                                            const std::vector<int>& counts, double flops_per_token,
                                            Progress& progress) {
  std::vector<render::SweepPoint> points(counts.size());
  std::atomic<std::size_t> taken{0};
  std::mutex watching;  // guards `done`, `failure` and the progress
  std::size_t done = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t next = taken++; next < counts.size(); next = taken++) {
      const std::size_t at = counts.size() - 1 - next;
      try {
        points[at] = point_of(profile, options, counts[at], flops_per_token);
      } catch (...) {
        const std::lock_guard lock(watching);
        failure = std::current_exception();
        return;
      }
      const std::lock_guard lock(watching);
      progress.advance(static_cast<double>(++done), static_cast<double>(counts.size()),
                       fmt::format("{} devices", counts[at]));
    }
  };
  progress.start("sweep", static_cast<double>(counts.size()));
  {
    const std::jthread second(work);
    work();
  }
  progress.finish();
  if (failure) std::rethrow_exception(failure);
  return points;
}

}  // namespace

std::vector<int> swept_counts(const std::string& text) {
  std::vector<int> counts;
  if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
    const int first = count_of(text.substr(0, dots), text);
    const int last = count_of(text.substr(dots + 2), text);
    for (int count = 1; count <= last; count *= 2) {
      if (count >= first) counts.push_back(count);
    }
    if (counts.empty()) refuse_range(text);
    return counts;
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    counts.push_back(count_of(text.substr(at, end - at), text));
    if (counts.size() > kMostPoints) refuse_range(text);
    at = end + 1;
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

void sweep_devices(const Profile& profile, const planner::PartitionOptions& options,
                   const PartitionArguments& arguments, Shell& shell) {
  const std::vector<int> counts = swept_counts(arguments.sweep);
  const std::vector<std::int64_t> measured = planner::measured_sequences(profile);
  const std::int64_t sequence = options.sequence.value_or(measured.empty() ? 1 : measured.back());
  const double flops = flops_per_token(profile.model, options, sequence);
  render::SweepView view{.model = profile.model.name,
                         .global_batch = options.global_batch,
                         .sequence = sequence,
                         .points = plan_points(profile, options, counts, flops, *shell.progress()),
                         .price = arguments.price};
  const bool any = std::ranges::any_of(
      view.points, [](const render::SweepPoint& point) { return point.why_not.empty(); });
  if (!any) {
    throw Error(Failure::kNoPlan,
                fmt::format("no number of devices has a plan; {}: {}",
                            view.points.back().device_count, view.points.back().why_not),
                "offer more devices, or pin less");
  }
  print(arguments.json ? render::sweep_json(view)
                       : render::sweep_text(view, shell.table_options()));
}

}  // namespace ppplan::cli
