// Plays a program forward and backward and follows what memory holds: a value from the step that
// makes it to the last that needs it, a gradient from its value's readers to its maker.
#pragma once

#include "profiler/estimate/program_parts.h"
#include "profiler/estimate/sharded_program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ppplan::profiler {

/// Bytes of `tokens` tokens on one of `device_count` devices, rounded up. Throws Error(kBadInput)
/// beyond 2^53.
std::int64_t sized(std::int64_t tokens, std::int64_t bytes, std::int64_t device_count = 1);

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

/// What a forward pass keeps for the backward pass.
enum class Keep { kEverything, kNoScores, kNothing };

/// How a replay's memory is counted.
struct ReplayShape {
  std::int64_t tokens = 1;
  std::int64_t score_tokens = 1;  ///< of scores, and of what a head's loss works with
  Keep keep = Keep::kEverything;
  bool counts_input_gradient = true;
};

/// The steps of one part, or of a whole program. What comes from outside of it is there already.
class Replay {
 public:
  /// `uses` are of parts of which `part` is one.
  Replay(const ShardedProgram& program, ProgramPart part, const std::vector<ValueUse>& uses,
         ReplayShape shape);

  /// Afterwards the level holds what backward needs.
  void forward(Level& level) const;
  /// Starts with what `forward` left, and with the gradient of what was handed on.
  void backward(Level& level) const;

 private:
  class Gradients;

  [[nodiscard]] const std::vector<ProgramStep>& steps() const { return program_->steps; }
  [[nodiscard]] const ProgramValue& value_at(int value) const {
    return program_->values[static_cast<std::size_t>(value)];
  }
  [[nodiscard]] std::int64_t size(int value, std::int64_t bytes) const;
  [[nodiscard]] std::int64_t gradient_size(int value) const;
  [[nodiscard]] std::int64_t workspace(const ProgramStep& step, std::int64_t bytes) const;
  [[nodiscard]] bool stays(int value) const;
  void free_read(Level& level, std::size_t index) const;
  void pass_on(Gradients& gradients, const ProgramStep& step, Level& level) const;

  const ShardedProgram* program_;
  ProgramPart part_;
  ReplayShape shape_;
  std::vector<std::int64_t> sizes_;        ///< by value; 0 of what comes from outside
  std::vector<std::size_t> first_keeper_;  ///< step, by value
  std::vector<std::size_t> last_reader_;
};

}  // namespace ppplan::profiler
