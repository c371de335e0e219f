#include "profiler/estimate/program_memory.h"

#include "profiler/estimate/program_parts.h"
#include "profiler/estimate/program_replay.h"

#include <cstddef>
#include <set>
#include <vector>

namespace ppplan::profiler {
namespace {

using Kind = ProgramStep::Kind;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Full recompute in chunks. Borders of the attention are there for all tokens, from when they are
/// made again to their first user's backward; their gradients from the last user's to the maker's.
class ChunkedBackward {
 public:
  ChunkedBackward(const ShardedProgram& program, const PassShape& shape)
      : program_(&program),
        shape_(shape),
        parts_(parts_of(program)),
        uses_(value_uses(program, parts_)),
        has_gradient_(program.values.size(), false) {}

  [[nodiscard]] std::int64_t peak() {
    std::size_t again = parts_.size();  // parts up to the last attention run again first
    while (again > 0 && !parts_[again - 1].is_attention) --again;
    for (std::size_t part = 0; part < again; ++part) forward(part);
    for (std::size_t part = parts_.size(); part-- > 0;) backward(part);
    return level_.peak();
  }

 private:
  [[nodiscard]] Replay chunk_of(const ProgramPart& part) const {
    return {*program_,
            part,
            uses_,
            {.tokens = shape_.chunk, .score_tokens = shape_.chunk, .counts_input_gradient = false}};
  }
  [[nodiscard]] std::int64_t whole(std::int64_t bytes) const {
    return sized(shape_.tokens, bytes, program_->sharding.tensor);
  }
  [[nodiscard]] std::int64_t workspace(const ProgramPart& part,
                                       std::int64_t ProgramStep::*bytes) const {
    return sized(shape_.tokens, program_->steps[part.first].*bytes);
  }
  /// Values that cross parts and are made in `part`, or all that an attention makes.
  template <typename Visit>
  void each_made(std::size_t part, const Visit& visit) const {
    for (std::size_t step = parts_[part].first; step < parts_[part].last; ++step) {
      for (const int value : program_->steps[step].outputs) {
        if (parts_[part].is_attention || uses_[at(value)].crosses()) visit(value);
      }
    }
  }

  void forward(std::size_t index) {
    const ProgramPart& part = parts_[index];
    each_made(index, [&](int value) { level_.add(whole(program_->values[at(value)].bytes)); });
    if (part.is_attention) {
      level_.touch(workspace(part, &ProgramStep::forward_workspace));
    } else {
      Level chunk;
      chunk_of(part).forward(chunk);
      level_.touch(chunk.peak());
    }
  }

  void backward(std::size_t index) {
    const ProgramPart& part = parts_[index];
    for (std::size_t step = part.first; step < part.last; ++step) {
      for (const int value : program_->steps[step].inputs) {
        const bool is_new = uses_[at(value)].crosses() && !has_gradient_[at(value)];
        if (!is_new || uses_[at(value)].maker == static_cast<int>(index)) continue;
        has_gradient_[at(value)] = true;
        level_.add(whole(program_->values[at(value)].gradient_bytes));
      }
    }
    if (part.is_attention) {
      level_.touch(workspace(part, &ProgramStep::backward_workspace));
    } else {
      Level chunk;
      const Replay replay = chunk_of(part);
      replay.forward(chunk);
      replay.backward(chunk);
      level_.touch(chunk.peak());
    }
    each_made(index, [&](int value) {
      if (has_gradient_[at(value)]) level_.free(whole(program_->values[at(value)].gradient_bytes));
    });
    for (std::size_t value = 0; value < uses_.size(); ++value) {
      const bool is_held = uses_[value].crosses() && uses_[value].maker >= 0;
      const bool is_scores = program_->values[value].is_scores;
      if ((is_held || is_scores) && uses_[value].first_user == static_cast<int>(index)) {
        level_.free(whole(program_->values[value].bytes));
      }
    }
  }

  const ShardedProgram* program_;
  PassShape shape_;
  std::vector<ProgramPart> parts_;
  std::vector<ValueUse> uses_;
  std::vector<bool> has_gradient_;  ///< by value
  Level level_;
};

/// What the weights' gradients need, once the inputs' are made: both factors of each product.
std::int64_t pending(const ShardedProgram& program, std::int64_t tokens) {
  std::set<int> kept;
  std::int64_t bytes = 0;
  for (const ProgramStep& step : program.steps) {
    const bool is_table = step.kind == Kind::kStream && step.weight_bytes > 0.0;
    if (step.kind == Kind::kCrossEntropy) {  // the logits' gradient, as long as an activation
      const std::int64_t number =
          program.values[at(step.inputs.front())].bytes / step.product.inner;
      bytes += sized(tokens, step.product.columns * number);
    }
    if (!is_table && step.kind != Kind::kProduct && step.kind != Kind::kCrossEntropy) continue;
    kept.insert(step.keeps.begin(), step.keeps.end());
    for (const int value : step.outputs) {
      bytes += sized(tokens, program.values[at(value)].gradient_bytes, program.sharding.tensor);
    }
  }
  for (const int value : kept) {
    if (!program.values[at(value)].is_scores) {
      bytes += sized(tokens, program.values[at(value)].bytes, program.sharding.tensor);
    }
  }
  return bytes;
}

}  // namespace

PassMemory pass_memory(const ShardedProgram& program, const PassShape& shape) {
  const ProgramPart whole{0, program.steps.size(), false};
  const std::vector<ValueUse> uses = value_uses(program, {whole});
  const bool is_chunked = shape.chunk > 0;
  const bool is_full = shape.recompute == Recompute::kFull;
  const bool drops_scores = shape.recompute == Recompute::kSelective || (is_chunked && !is_full);
  const auto replay = [&](Keep keep) {
    return Replay(program, whole, uses,
                  {.tokens = shape.tokens,
                   .score_tokens = is_chunked && !is_full ? shape.chunk : shape.tokens,
                   .keep = keep});
  };
  const auto bytes_of = [&](const ProgramValue& value) {
    return Bytes{sized(shape.tokens, value.bytes, program.sharding.tensor)};
  };
  const Keep keep = is_full ? Keep::kNothing : drops_scores ? Keep::kNoScores : Keep::kEverything;

  PassMemory memory;
  memory.output = bytes_of(program.values[at(program.output)]);
  memory.weight_pending = Bytes{is_chunked ? 0 : pending(program, shape.tokens)};
  if (is_full) memory.saved = bytes_of(program.values[at(program.input)]);
  for (const ProgramValue& value : program.values) {
    const bool stays = value.is_kept && !is_full && !(drops_scores && value.is_scores);
    if (stays) memory.saved += bytes_of(value);
  }
  Level level;
  replay(keep).forward(level);
  memory.forward_peak = Bytes{level.peak()};
  level.restart();
  if (is_full && is_chunked) {
    memory.backward_peak = Bytes{ChunkedBackward(program, shape).peak()};
    return memory;
  }
  if (is_full) replay(Keep::kEverything).forward(level);
  replay(is_full ? Keep::kEverything : keep).backward(level);
  memory.backward_peak = Bytes{level.peak()};
  return memory;
}

}  // namespace ppplan::profiler
