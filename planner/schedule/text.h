// The text form of schedules: PyTorch's CSV, one line a rank.
#pragma once

#include "planner/schedule/schedule.h"

#include <string>
#include <string_view>
#include <vector>

namespace ppplan::planner {

/// "2F5", "1SEND_F0", "(0F1;3B0)OVERLAP_F_B" for an overlapped pair.
std::string to_text(const Action& action);

/// One line a rank, cells separated by commas (no blanks), as PyTorch's `compute_only` CSV.
std::vector<std::string> to_lines(const Schedule& schedule);
std::string to_csv(const Schedule& schedule);

/// Reads lines of that form, with or without communication; empty cells are idle slots, and
/// sharding actions (UNSHARD, RESHARD, REDUCE_GRAD) are passed over. Stages' ranks are those their
/// actions stand on. `name` is what messages call the text. Throws Error(kBadInput)
/// "name:row:column: ..." (the column counts cells) for garbage, gaps in stages or micro-batches, a
/// stage on two ranks, a byte order mark, more than kMaxActionCount actions or kMaxRankCount lines,
/// and for whatever `check` refuses. O(size).
Schedule from_csv(std::string_view text, const std::string& name);

}  // namespace ppplan::planner
