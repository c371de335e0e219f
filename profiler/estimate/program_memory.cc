#include "profiler/estimate/program_memory.h"

#include "profiler/estimate/program_parts.h"
#include "reports/documents/error.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

namespace ppplan::profiler {
namespace {

using Kind = ProgramStep::Kind;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Bytes of `tokens` tokens on one of `parts` devices.
std::int64_t sized(std::int64_t tokens, std::int64_t bytes, std::int64_t parts = 1) {
  constexpr __int128 kMost = __int128{1} << 53;
  const __int128 size = (static_cast<__int128>(tokens) * bytes + parts - 1) / parts;
  if (size <= kMost) return static_cast<std::int64_t>(size);
  throw Error(Failure::kBadInput, "a layer's tensors exceed 2^53 bytes",
              "estimate smaller --micro-batches or --sequence-lengths");
}

/// What is held now, and the most that was.
class Level {
 public:
  void add(std::int64_t bytes) {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
  }
  void free(std::int64_t bytes) { now_ -= bytes; }
  void touch(std::int64_t bytes) { peak_ = std::max(peak_, now_ + bytes); }
  /// Counts from here on.
  void restart() { now_ = peak_ = 0; }
  [[nodiscard]] std::int64_t peak() const { return peak_; }

 private:
  std::int64_t now_ = 0;
  std::int64_t peak_ = 0;
};

/// Gradients of values; an addition's terms share one.
class Gradients {
 public:
  Gradients(std::size_t value_count, Level& level)
      : buffer_of_(value_count, kNone), level_(&level) {}

  [[nodiscard]] bool has(int value) const { return buffer_of_[at(value)] != kNone; }
  void make(int value, std::int64_t bytes) {
    buffer_of_[at(value)] = buffers_.size();
    buffers_.push_back({bytes, 1});
    level_->add(bytes);
  }
  /// The sum of the gradient there and a new one, in the new one's place.
  void sum(int value, std::int64_t bytes) {
    level_->add(bytes);
    release(value);
    level_->free(bytes);
    make(value, bytes);
  }
  void share(int value, int with) {
    buffer_of_[at(value)] = buffer_of_[at(with)];
    ++buffers_[buffer_of_[at(value)]].owner_count;
  }
  void release(int value) {
    std::size_t& index = buffer_of_[at(value)];
    if (index == kNone) return;
    Buffer& buffer = buffers_[index];
    index = kNone;
    if (--buffer.owner_count == 0) level_->free(buffer.bytes);
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  struct Buffer {
    std::int64_t bytes = 0;
    int owner_count = 0;
  };
  std::vector<std::size_t> buffer_of_;  ///< by value
  std::vector<Buffer> buffers_;
  Level* level_;
};

/// What a forward pass keeps for the backward pass.
enum class Keep { kEverything, kNoScores, kNothing };

/// How a replay's memory is counted.
struct ReplayShape {
  std::int64_t tokens = 1;
  std::int64_t score_tokens = 1;  ///< of scores, and of what a head's loss works with
  Keep keep = Keep::kEverything;
  bool counts_input_gradient = true;
};

/// Plays the steps of one part, or of a whole program. What comes from outside is there already.
class Replay {
 public:
  Replay(const ShardedProgram& program, ProgramPart part, const std::vector<ValueUse>& uses,
         ReplayShape shape)
      : program_(&program),
        part_(part),
        shape_(shape),
        sizes_(program.values.size(), 0),
        first_keeper_(program.values.size(), SIZE_MAX),
        last_reader_(program.values.size(), SIZE_MAX) {
    for (std::size_t step = part.first; step < part.last; ++step) {
      for (const int value : steps()[step].outputs) {
        if (!uses[at(value)].crosses()) sizes_[at(value)] = size(value, value_at(value).bytes);
      }
      for (const int value : steps()[step].inputs) last_reader_[at(value)] = step;
      for (const int value : steps()[step].keeps) {
        first_keeper_[at(value)] = std::min(first_keeper_[at(value)], step);
      }
    }
  }

  /// Afterwards the level holds what backward needs.
  void forward(Level& level) const {
    for (std::size_t index = part_.first; index < part_.last; ++index) {
      const ProgramStep& step = steps()[index];
      if (step.kind == Kind::kView) free_read(level, index);
      for (const int value : step.outputs) level.add(sizes_[at(value)]);
      level.touch(workspace(step, step.forward_workspace));
      if (step.kind != Kind::kView) free_read(level, index);
      for (const int value : step.outputs) {
        const bool handed_on = value == program_->output || last_reader_[at(value)] != SIZE_MAX;
        if (!handed_on && !stays(value)) level.free(sizes_[at(value)]);
      }
    }
    if (const int output = program_->output; !stays(output)) level.free(sizes_[at(output)]);
  }

  /// Starts with what `forward` left, and with the gradient of what was handed on.
  void backward(Level& level) const {
    Gradients gradients(program_->values.size(), level);
    for (std::size_t index = part_.last; index-- > part_.first;) {
      const ProgramStep& step = steps()[index];
      for (const int value : step.outputs) {
        if (value_at(value).is_scores && !stays(value)) level.add(sizes_[at(value)]);
      }
      pass_on(gradients, step, level);
      for (const int value : step.keeps) {
        if (first_keeper_[at(value)] == index) level.free(sizes_[at(value)]);
      }
    }
  }

 private:
  [[nodiscard]] const std::vector<ProgramStep>& steps() const { return program_->steps; }
  [[nodiscard]] const ProgramValue& value_at(int value) const {
    return program_->values[at(value)];
  }
  [[nodiscard]] std::int64_t size(int value, std::int64_t bytes) const {
    const std::int64_t tokens = value_at(value).is_scores ? shape_.score_tokens : shape_.tokens;
    return sized(tokens, bytes, program_->tensor);
  }
  [[nodiscard]] std::int64_t workspace(const ProgramStep& step, std::int64_t bytes) const {
    return sized(step.kind == Kind::kCrossEntropy ? shape_.score_tokens : shape_.tokens, bytes);
  }
  [[nodiscard]] bool stays(int value) const {
    if (!value_at(value).is_kept || shape_.keep == Keep::kNothing) return false;
    return shape_.keep == Keep::kEverything || !value_at(value).is_scores;
  }
  void free_read(Level& level, std::size_t index) const {
    const std::set<int> read(steps()[index].inputs.begin(), steps()[index].inputs.end());
    for (const int value : read) {
      if (last_reader_[at(value)] == index && !stays(value)) level.free(sizes_[at(value)]);
    }
  }
  [[nodiscard]] std::int64_t gradient_size(int value) const {
    const bool is_outside = sizes_[at(value)] == 0;
    if (is_outside && !shape_.counts_input_gradient) return 0;
    return size(value, value_at(value).gradient_bytes);
  }

  void pass_on(Gradients& gradients, const ProgramStep& step, Level& level) const {
    const auto release_outputs = [&] {
      for (const int value : step.outputs) gradients.release(value);
    };
    if (step.kind == Kind::kView) release_outputs();
    for (const int value : step.inputs) {
      if (value_at(value).gradient_bytes == 0) continue;
      if (gradients.has(value)) {
        if (step.kind != Kind::kAddition) gradients.sum(value, gradient_size(value));
      } else if (step.kind == Kind::kAddition && gradients.has(step.outputs.front())) {
        gradients.share(value, step.outputs.front());
      } else if (step.kind == Kind::kAddition) {
        gradients.make(value, 0);  // the gradient that the layer was given
      } else {
        gradients.make(value, gradient_size(value));
      }
    }
    level.touch(workspace(step, step.backward_workspace));
    if (step.kind != Kind::kView) release_outputs();
  }

  const ShardedProgram* program_;
  ProgramPart part_;
  ReplayShape shape_;
  std::vector<std::int64_t> sizes_;        ///< by value; 0 of what comes from outside
  std::vector<std::size_t> first_keeper_;  ///< step, by value
  std::vector<std::size_t> last_reader_;
};

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
    return sized(shape_.tokens, bytes, program_->tensor);
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
      bytes += sized(tokens, program.values[at(value)].gradient_bytes, program.tensor);
    }
  }
  for (const int value : kept) {
    if (!program.values[at(value)].is_scores) {
      bytes += sized(tokens, program.values[at(value)].bytes, program.tensor);
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
    return Bytes{sized(shape.tokens, value.bytes, program.tensor)};
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
