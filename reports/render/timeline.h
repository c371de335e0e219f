// A picture of a schedule's run in text: one line a rank, time from left to right.
#pragma once

#include "planner/schedule/simulator.h"
#include "reports/render/table.h"

#include <cstddef>
#include <string>

namespace ppplan::render {

struct TimelineOptions {
  std::size_t width = 100;      ///< columns of the terminal; at least 40 are used
  std::size_t most_ranks = 32;  ///< of more ranks the first and the last are drawn
  Style style = Style::kPlain;
};

/// The picture, its time axis and its legend, each line ended by a new line:
///
///   rank 0 │F0F1      B0══B1══│
///   rank 1 │  F0F1B0══B1══    │
///           0 s         9.00 s
///   F forward  B backward
///
/// Where actions would be shorter than a column, the beginning and the end are drawn and ┊ stands
/// for what is between. Not wider than `width`: where an action is too short for its name it is
/// drawn by its letter, and a column shows what fills most of it. `timeline` is that of simulating
/// `schedule`. O(actions + ranks * width).
std::string timeline_text(const planner::Schedule& schedule, const planner::Timeline& timeline,
                          const TimelineOptions& options = {});

}  // namespace ppplan::render
