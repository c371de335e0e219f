// Plans whose order is made for their own stage times.
#pragma once

#include "planner/plan_writer.h"
#include "planner/question.h"

#include <vector>

namespace ppplan::planner {

/// Orders (synthesize.h) for the cuts of the most promising drafts, each within its ranks' memory
/// and never longer than the draft's. `drafts`: named schedules with their cuts, the best first.
/// The cut itself is the draft's: it is not sought again for the new order. Deterministic, some
/// seconds at most.
std::vector<Priced> synthesized(const std::vector<Priced>& drafts);

}  // namespace ppplan::planner
