#include "profiler/estimate/program_times.h"

#include "profiler/estimate/program_parts.h"

#include <cstddef>
#include <vector>

namespace ppplan::profiler {
namespace {

using Kind = ProgramStep::Kind;

/// The time of all chunks of `shape.tokens` tokens, the last of which may be shorter.
template <typename Time>
KernelTime by_chunks(const PassShape& shape, const Time& time) {
  const std::int64_t full_count = shape.tokens / shape.chunk;
  const std::int64_t rest = shape.tokens % shape.chunk;
  KernelTime sum = static_cast<double>(full_count) * time(shape.chunk);
  if (rest > 0) sum += time(rest);
  return sum;
}

KernelTime backward_of(const StepTimes& times, const ProgramStep& step, std::int64_t tokens) {
  return times.input_gradients(step, tokens) + times.weight_gradients(step, tokens);
}

/// Full recompute and backward in chunks, in all.
KernelTime chunked_backward(const StepTimes& times, const PassShape& shape) {
  const ShardedProgram& program = times.program();
  const std::vector<ProgramPart> parts = parts_of(program);
  const std::vector<ValueUse> uses = value_uses(program, parts);
  KernelTime sum;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    const ProgramPart& part = parts[index];
    for (std::size_t step = part.first; step < part.last; ++step) {
      const ProgramStep& at = program.steps[step];
      if (part.is_attention) {
        sum += times.forward(at, shape.tokens) + backward_of(times, at, shape.tokens);
      } else {
        sum += by_chunks(shape, [&](std::int64_t tokens) {
          return times.forward(at, tokens) + backward_of(times, at, tokens);
        });
      }
    }
    const bool runs_once_more = !part.is_attention && index + 1 < parts.size();
    if (!runs_once_more) continue;
    for (const std::size_t step : steps_for_kept(program, part, uses)) {
      sum += by_chunks(
          shape, [&](std::int64_t tokens) { return times.forward(program.steps[step], tokens); });
    }
  }
  return sum;
}

/// A head that makes its logits in chunks, once in forward and again in backward.
struct ChunkedHead {
  KernelTime forward;
  KernelTime backward;
};

ChunkedHead chunked_head(const StepTimes& times, const PassShape& shape) {
  ChunkedHead head;
  for (const ProgramStep& step : times.program().steps) {
    if (step.kind != Kind::kCrossEntropy) {
      head.forward += times.forward(step, shape.tokens);
      head.backward += backward_of(times, step, shape.tokens);
      continue;
    }
    const auto forward = [&](std::int64_t tokens) { return times.forward(step, tokens); };
    head.forward += by_chunks(shape, forward);
    head.backward += by_chunks(shape, [&](std::int64_t tokens) {
      return forward(tokens) + backward_of(times, step, tokens);
    });
  }
  return head;
}

}  // namespace

KernelTime StepTimes::product(double rows, double inner, double columns) const {
  const double numbers = rows * inner + inner * columns + rows * columns;
  return roofline_->product({.rows = rows,
                             .inner = inner,
                             .columns = columns,
                             .bytes = numbers * precision_.activation_bytes});
}

double StepTimes::attention_flops(const ProgramStep& step, std::int64_t tokens) const {
  const AttentionShape& shape = step.attention;
  return 4.0 * static_cast<double>(tokens) * static_cast<double>(shape.heads * shape.head_size) *
         shape.context;
}

/// Products of [S,E] x [E,S] or [S,S] x [S,E], one a sample and head in one kernel.
KernelTime StepTimes::scores(const ProgramStep& step, std::int64_t tokens,
                             int product_count) const {
  const auto s = static_cast<double>(sequence_);
  const auto e = static_cast<double>(step.attention.head_size);
  const double heads = static_cast<double>(step.attention.heads) * static_cast<double>(tokens) / s;
  return product_count *
         roofline_->product({.rows = s,
                             .inner = e,
                             .columns = s,
                             .bytes = (2.0 * s * e + s * s) * precision_.activation_bytes,
                             .count = heads});
}

KernelTime StepTimes::forward(const ProgramStep& step, std::int64_t tokens) const {
  const auto n = static_cast<double>(tokens);
  const auto inner = static_cast<double>(step.product.inner);
  const auto columns = static_cast<double>(step.product.columns);
  KernelTime sum = roofline_->stream(step.forward_bytes * n);
  if (step.kind == Kind::kProduct || step.kind == Kind::kCrossEntropy) {
    sum += product(n, inner, columns);
  } else if (step.kind == Kind::kAttention) {
    const bool stores_scores = step.forward_bytes > 0.0;
    sum += stores_scores ? scores(step, tokens, 2)
                         : roofline_->attention_forward(attention_flops(step, tokens), 0.0);
  }
  return sum;
}

KernelTime StepTimes::input_gradients(const ProgramStep& step, std::int64_t tokens) const {
  const auto n = static_cast<double>(tokens);
  KernelTime sum = roofline_->stream(step.backward_bytes * n);
  if (step.kind == Kind::kProduct || step.kind == Kind::kCrossEntropy) {
    sum += product(n, static_cast<double>(step.product.columns),
                   static_cast<double>(step.product.inner));
  } else if (step.kind == Kind::kAttention) {
    // Dao 2023, section 3.1.2: five products in place of two, the scores' among them.
    const bool stores_scores = step.forward_bytes > 0.0;
    sum += stores_scores ? scores(step, tokens, 4)
                         : roofline_->attention_backward(2.5 * attention_flops(step, tokens), 0.0);
  }
  return sum;
}

KernelTime StepTimes::weight_gradients(const ProgramStep& step, std::int64_t tokens) const {
  const auto n = static_cast<double>(tokens);
  KernelTime sum = roofline_->stream(step.weight_bytes * n);
  if (step.kind == Kind::kProduct || step.kind == Kind::kCrossEntropy) {
    const auto inner = static_cast<double>(step.product.inner);
    const auto columns = static_cast<double>(step.product.columns);
    sum += roofline_->product({.rows = inner,
                               .inner = n,
                               .columns = columns,
                               .bytes = n * (inner + columns) * precision_.activation_bytes +
                                        2.0 * inner * columns * precision_.gradient_bytes});
  }
  return sum;
}

PassTimes pass_times(const StepTimes& times, const PassShape& shape) {
  KernelTime forward;
  KernelTime input;
  KernelTime weight;
  KernelTime again;  // recomputed before the input's gradients
  for (const ProgramStep& step : times.program().steps) {
    const KernelTime step_forward = times.forward(step, shape.tokens);
    forward += step_forward;
    input += times.input_gradients(step, shape.tokens);
    weight += times.weight_gradients(step, shape.tokens);
    const bool is_attention = step.kind == Kind::kAttention;
    if (shape.recompute == Recompute::kFull ||
        (shape.recompute == Recompute::kSelective && is_attention)) {
      again += step_forward;
    }
  }
  KernelTime backward = again + input + weight;
  const Seconds plain = (input + weight).total();
  if (shape.chunk > 0 && shape.recompute == Recompute::kFull) {
    backward = chunked_backward(times, shape);
  } else if (shape.chunk > 0) {
    const ChunkedHead head = chunked_head(times, shape);
    forward = head.forward;
    backward = head.backward;
  }
  const bool splits = shape.chunk == 0;
  return {.forward = forward.total(),
          .backward = backward.total(),
          .backward_input = splits ? (again + input).total() : backward.total(),
          .backward_weight = splits ? weight.total() : Seconds(0),
          .recompute_extra = backward.total() - plain};
}

}  // namespace ppplan::profiler
