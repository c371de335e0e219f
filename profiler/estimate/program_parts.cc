#include "profiler/estimate/program_parts.h"

#include <algorithm>

namespace ppplan::profiler {

std::vector<ProgramPart> parts_of(const ShardedProgram& program) {
  std::vector<ProgramPart> parts;
  for (std::size_t step = 0; step < program.steps.size(); ++step) {
    const bool is_attention = program.steps[step].kind == ProgramStep::Kind::kAttention;
    if (parts.empty() || is_attention || parts.back().is_attention) {
      parts.push_back({step, step, is_attention});
    }
    parts.back().last = step + 1;
  }
  return parts;
}

std::vector<ValueUse> value_uses(const ShardedProgram& program,
                                 const std::vector<ProgramPart>& parts) {
  std::vector<ValueUse> uses(program.values.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto index = static_cast<int>(part);
    const auto note = [&](int value) {
      ValueUse& use = uses[static_cast<std::size_t>(value)];
      if (use.first_user < 0) use.first_user = index;
      use.last_user = index;
    };
    for (std::size_t step = parts[part].first; step < parts[part].last; ++step) {
      const ProgramStep& at = program.steps[step];
      for (const int value : at.outputs) uses[static_cast<std::size_t>(value)].maker = index;
      for (const int value : at.inputs) note(value);
      for (const int value : at.keeps) note(value);
    }
  }
  return uses;
}

std::vector<std::size_t> steps_for_kept(const ShardedProgram& program, const ProgramPart& part,
                                        const std::vector<ValueUse>& uses) {
  std::vector<bool> needed(program.values.size(), false);
  const auto need = [&](int value) {
    const auto index = static_cast<std::size_t>(value);
    if (!uses[index].crosses()) needed[index] = true;
  };
  std::vector<std::size_t> steps;
  for (std::size_t step = part.first; step < part.last; ++step) {
    for (const int value : program.steps[step].keeps) need(value);
  }
  for (std::size_t step = part.last; step-- > part.first;) {
    const ProgramStep& at = program.steps[step];
    const bool runs = std::any_of(at.outputs.begin(), at.outputs.end(), [&](int value) {
      return needed[static_cast<std::size_t>(value)];
    });
    if (!runs) continue;
    steps.push_back(step);
    for (const int value : at.inputs) need(value);
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace ppplan::profiler
