// Shows a plan to people, and the same facts as JSON.
#pragma once

#include "planner/schedule/simulator.h"
#include "reports/documents/plan.h"
#include "reports/render/rivals_view.h"
#include "reports/render/table.h"

#include <string>
#include <vector>

namespace ppplan::render {

/// A plan with what its document leaves out.
struct PlanView {
  const Plan* plan = nullptr;
  const planner::Schedule* schedule = nullptr;  ///< its actions
  const planner::Timeline* timeline = nullptr;  ///< of one step of them
  std::vector<Bytes> allowed;                   ///< memory limit by rank
  RivalsView rivals{};                          ///< left out where it has no plan
  std::string search;  ///< how it was found, in a sentence without a full stop
};

/// Headline figures, the verdict, the split, the timeline, memory by rank, what lost and why,
/// batching of samples of different lengths. Not wider than options.width where that is at least 80
/// (100 with batching, or a layout of many devices). Of many stages those alike share a row; of
/// more than 32 rows the first and the last are shown.
std::string plan_text(const PlanView& view, const TableOptions& options = {});

/// One object: the plan's figures, keys with units, nothing shortened.
std::string plan_json(const PlanView& view);

}  // namespace ppplan::render
