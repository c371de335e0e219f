// How long a layer's program takes on one device, step by step.
#pragma once

#include "profiler/estimate/program_memory.h"
#include "profiler/estimate/roofline.h"
#include "profiler/estimate/sharded_program.h"
#include "profiler/models/counts.h"
#include "reports/documents/units.h"

namespace ppplan::profiler {

/// Fields as in Measurement.
struct PassTimes {
  Seconds forward{0};
  Seconds backward{0};
  Seconds backward_input{0};
  Seconds backward_weight{0};
  Seconds recompute_extra{0};
};

/// Times of single steps; `tokens` go through at once.
class StepTimes {
 public:
  StepTimes(const ShardedProgram& program, const Roofline& roofline, const Precision& precision,
            std::int64_t sequence)
      : program_(&program), roofline_(&roofline), precision_(precision), sequence_(sequence) {}

  [[nodiscard]] KernelTime forward(const ProgramStep& step, std::int64_t tokens) const;
  [[nodiscard]] KernelTime input_gradients(const ProgramStep& step, std::int64_t tokens) const;
  /// Weights' gradients are added to those of earlier micro-batches: read and written once.
  [[nodiscard]] KernelTime weight_gradients(const ProgramStep& step, std::int64_t tokens) const;

  [[nodiscard]] const ShardedProgram& program() const { return *program_; }

 private:
  [[nodiscard]] KernelTime product(double rows, double inner, double columns) const;
  [[nodiscard]] KernelTime scores(const ProgramStep& step, std::int64_t tokens,
                                  int product_count) const;
  [[nodiscard]] double attention_flops(const ProgramStep& step, std::int64_t tokens) const;

  const ShardedProgram* program_;
  const Roofline* roofline_;
  Precision precision_;
  std::int64_t sequence_;
};

/// Selective recompute runs the attention core's forward again before its backward, full recompute
/// the whole forward. In chunks, token-wise steps run once a chunk, forward again and backward:
/// more and smaller kernels, each adding to the weights' gradients; and the steps before the
/// attention run once more for what their own backward keeps. Input and weight gradients of a chunk
/// cannot be told apart in time, for its values are gone when the next one comes: then
/// backward_input is the whole and backward_weight is 0. O(steps).
PassTimes pass_times(const StepTimes& times, const PassShape& shape);

}  // namespace ppplan::profiler
