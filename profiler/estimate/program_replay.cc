#include "profiler/estimate/program_replay.h"

#include "reports/documents/error.h"

#include <set>

namespace ppplan::profiler {
namespace {

using Kind = ProgramStep::Kind;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

std::int64_t sized(std::int64_t tokens, std::int64_t bytes, std::int64_t device_count) {
  constexpr __int128 kMost = __int128{1} << 53;
  const __int128 size = (static_cast<__int128>(tokens) * bytes + device_count - 1) / device_count;
  if (size <= kMost) return static_cast<std::int64_t>(size);
  throw Error(Failure::kBadInput, "a layer's tensors exceed 2^53 bytes",
              "estimate smaller --micro-batches or --sequence-lengths");
}

/// Gradients of values; an addition's terms share one.
class Replay::Gradients {
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

Replay::Replay(const ShardedProgram& program, ProgramPart part, const std::vector<ValueUse>& uses,
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

void Replay::forward(Level& level) const {
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

void Replay::backward(Level& level) const {
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

void Replay::pass_on(Gradients& gradients, const ProgramStep& step, Level& level) const {
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

void Replay::free_read(Level& level, std::size_t index) const {
  const std::set<int> read(steps()[index].inputs.begin(), steps()[index].inputs.end());
  for (const int value : read) {
    if (last_reader_[at(value)] == index && !stays(value)) level.free(sizes_[at(value)]);
  }
}

std::int64_t Replay::size(int value, std::int64_t bytes) const {
  const std::int64_t tokens = value_at(value).is_scores ? shape_.score_tokens : shape_.tokens;
  return sized(tokens, bytes, program_->sharding.tensor);
}

std::int64_t Replay::gradient_size(int value) const {
  const bool is_outside = sizes_[at(value)] == 0;
  if (is_outside && !shape_.counts_input_gradient) return 0;
  return size(value, value_at(value).gradient_bytes);
}

std::int64_t Replay::workspace(const ProgramStep& step, std::int64_t bytes) const {
  return sized(step.kind == Kind::kCrossEntropy ? shape_.score_tokens : shape_.tokens, bytes);
}

bool Replay::stays(int value) const {
  if (!value_at(value).is_kept || shape_.keep == Keep::kNothing) return false;
  return shape_.keep == Keep::kEverything || !value_at(value).is_scores;
}

}  // namespace ppplan::profiler
