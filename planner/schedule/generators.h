// Named schedules: one generator each.
#pragma once

#include "planner/schedule/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ppplan::planner {

/// The longest schedule that is generated or read, so that time and memory stay bounded (600 MB).
inline constexpr std::int64_t kMaxActionCount = 50'000'000;
inline constexpr int kMaxRankCount = 1'000'000;  ///< likewise

struct ScheduleShape {
  int rank_count = 1;
  int micro_batch_count = 1;
  int virtual_count = 1;  ///< stages a rank; schedules with a fixed number ignore it
  /// Of interleaved schedules; the rank count when not given.
  std::optional<int> micro_batch_group{};
};

/// A schedule cannot serve this shape; `reason` says why and what the next legal shape is.
struct Unschedulable {
  std::string reason;
};

/// Names of the training schedules that `make_schedule` knows, in the order they are listed to
/// people; it also knows kForwardOnly.
const std::vector<std::string>& schedule_names();

/// The compute-only schedule of that name. Throws Error(kBadInput) with "did you mean" for an
/// unknown name, counts below 1, or more than kMaxActionCount actions or kMaxRankCount ranks. Legal
/// results pass `check` (checker.h).
std::variant<Schedule, Unschedulable> make_schedule(std::string_view name,
                                                    const ScheduleShape& shape);

}  // namespace ppplan::planner
