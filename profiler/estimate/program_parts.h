// A program's runs of token-wise steps and the attention cores between them: what can be computed a
// chunk of tokens at a time, and what cannot.
#pragma once

#include "profiler/estimate/sharded_program.h"

#include <cstddef>
#include <vector>

namespace ppplan::profiler {

/// Steps [first, last): one attention core, or a run of token-wise steps.
struct ProgramPart {
  std::size_t first = 0;
  std::size_t last = 0;
  bool is_attention = false;
};

/// In order; no part is empty.
std::vector<ProgramPart> parts_of(const ShardedProgram& program);

/// Where a value is made and needed, as indices of parts.
struct ValueUse {
  int maker = -1;       ///< -1: the layer's input
  int first_user = -1;  ///< the first that reads it, or keeps it for its backward; -1: none
  int last_user = -1;
  /// Made in one part and needed in another.
  [[nodiscard]] bool crosses() const { return last_user >= 0 && last_user != maker; }
};

/// By value.
std::vector<ValueUse> value_uses(const ShardedProgram& program,
                                 const std::vector<ProgramPart>& parts);

/// The steps of a part that must run again, in order, for what its backward keeps, where the values
/// that cross parts are there already.
std::vector<std::size_t> steps_for_kept(const ShardedProgram& program, const ProgramPart& part,
                                        const std::vector<ValueUse>& uses);

}  // namespace ppplan::profiler
