// Finds cuts of one candidate: a balanced one, one that fits its ranks, the fastest.
#pragma once

#include "planner/candidate.h"
#include "planner/chain_cut.h"

#include <cstdint>
#include <optional>

namespace ppplan::planner {

/// A balanced cut within the candidate's limits of the cut, whatever memory it needs.
Cut balanced_cut(const Candidate& candidate);

/// A cut that fits and is nearly balanced; empty when none is found. With one stage a rank that
/// means that none fits, where all boundary tensors have one size.
std::optional<Cut> fitting_cut(const Candidate& candidate);

/// The cut whose rank that exceeds its limit most does so least, and by how many bytes (negative
/// when all fit); empty when none stays below `ceiling`. Exact as fitting_cut is.
std::optional<Bottleneck> leanest_cut(const Candidate& candidate, double ceiling);

/// The fastest cut that fits, of those faster than `ceiling`. `start` fits. With one stage a rank
/// bounds of single stages exclude nearly everything. With several, stages weigh on each other
/// through their rank: the search is exact where all cuts that the ranks' work does not exclude can
/// be simulated (some ten layers); chains with layers^2 * stages beyond a million are improved from
/// `start` only. `simulated_actions` limits the work; search_cost says how many a result took.
CutResult fastest_cut(const Candidate& candidate, const Cut& start, Seconds ceiling,
                      std::int64_t simulated_actions);
std::int64_t search_cost(const Candidate& candidate, const CutResult& result);

}  // namespace ppplan::planner
