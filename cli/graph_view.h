// Shows the cut of a graph to people, and the same facts as JSON.
#pragma once

#include "planner/graph/graph_cut.h"
#include "reports/documents/graph_profile.h"
#include "reports/render/table.h"

#include <string>

namespace ppplan::cli {

enum class Rules { kMaxLoad, kPipeDream };

struct GraphView {
  Rules rules;
  const GraphProfile& profile;
  const planner::GraphAnswer& answer;  ///< with stages
  std::string machine;                 ///< "6 accelerators of 16.01 GiB, 1 CPU"
  Seconds search_time;
};

/// The bottleneck and how sure it is, then a row a stage; of many stages the first 32.
std::string graph_text(const GraphView& view, const render::TableOptions& options);
/// One object; every node by name.
std::string graph_json(const GraphView& view);

}  // namespace ppplan::cli
