// Rotary position embedding (Su et al., 2021) and causal attention.
// Shape letters: B micro-batch, S sequence, H query heads, K key/value heads, E head size.
#include "executor/layers/operator_module.h"
#include "reports/documents/error.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace ppplan::executor {
namespace {

/// Stretched frequencies of a head, [E/2]; "llama3" keeps short wavelengths, divides long ones by
/// the factor and blends between (Llama 3.1).
std::vector<double> rope_frequencies(const RopeOp& rope) {
  const RopeScaling& scaling = rope.scaling;
  std::vector<double> frequencies;
  for (std::int64_t pair = 0; pair < rope.head_size / 2; ++pair) {
    double frequency = std::pow(
        rope.theta, -2.0 * static_cast<double>(pair) / static_cast<double>(rope.head_size));
    if (scaling.type == "linear") {
      frequency /= scaling.factor;
    } else if (scaling.type == "llama3") {
      const double wavelength = 2.0 * std::numbers::pi / frequency;
      const auto original = static_cast<double>(scaling.original_positions);
      const double smooth = (original / wavelength - scaling.low_frequency_factor) /
                            (scaling.high_frequency_factor - scaling.low_frequency_factor);
      const double kept = std::clamp(smooth, 0.0, 1.0);
      frequency = kept * frequency + (1.0 - kept) * frequency / scaling.factor;
    } else if (scaling.type != "default") {
      throw Error(Failure::kBadInput, "rotary scaling '" + scaling.type + "' cannot be run",
                  "the executor runs default, linear and llama3");
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

}  // namespace

std::pair<at::Tensor, at::Tensor> RopeTables::get(const RopeOp& rope, std::int64_t sequence) {
  for (const Entry& entry : entries_) {
    if (entry.rope == rope && entry.cosine.size(0) >= sequence) {
      return {entry.cosine.narrow(0, 0, sequence), entry.sine.narrow(0, 0, sequence)};
    }
  }
  const at::Tensor frequencies = at::tensor(rope_frequencies(rope), at::kDouble).to(at::kFloat);
  const at::Tensor places = at::arange(sequence, at::TensorOptions(at::kFloat));
  const at::Tensor angles = at::outer(places, frequencies);  // [S, E/2]
  entries_.push_back({rope, angles.cos().to(device_), angles.sin().to(device_)});
  return {entries_.back().cosine, entries_.back().sine};
}

namespace {

/// (a, b) -> (a cos - b sin, b cos + a sin) on the two halves of every head.
class Rope final : public OperatorModule {
 public:
  Rope(const RopeOp& op, std::shared_ptr<RopeTables> tables)
      : op_(op), tables_(std::move(tables)) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    return {rotate(inputs[0], /*direction=*/1.0)};
  }

  Tensors backward(const Tensors& output_gradients, Tensors /*saved*/,
                   WeightWork& /*weights*/) override {
    return {rotate(output_gradients[0], /*direction=*/-1.0)};
  }

 private:
  [[nodiscard]] at::Tensor rotate(const at::Tensor& x, double direction) {
    const std::int64_t half = op_.head_size / 2;
    const at::Tensor heads = x.reshape({x.size(0), x.size(1), -1, op_.head_size});  // [B,S,H,E]
    const auto [cosine, sine] = tables_->get(op_, x.size(1));
    const at::Tensor c = cosine.unsqueeze(1);  // [S,1,E/2]
    const at::Tensor s = sine.unsqueeze(1);
    const at::Tensor a = heads.narrow(-1, 0, half);
    const at::Tensor b = heads.narrow(-1, half, half);
    at::Tensor result = at::empty(heads.sizes(), heads.options());
    at::Tensor first = result.narrow(-1, 0, half);
    at::Tensor second = result.narrow(-1, half, half);
    at::mul_out(first, a, c);
    first.addcmul_(b, s, -direction);
    at::mul_out(second, b, c);
    second.addcmul_(a, s, direction);
    return result.view({x.size(0), x.size(1), -1});
  }

  RopeOp op_;
  std::shared_ptr<RopeTables> tables_;
};

class Attention final : public OperatorModule {
 public:
  explicit Attention(const AttentionOp& op) : op_(op) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const at::Tensor q = by_head(inputs[0], op_.head_count);
    const at::Tensor k = by_head(inputs[1], op_.kv_head_count);
    const at::Tensor v = by_head(inputs[2], op_.kv_head_count);
    const std::optional<at::Tensor> mask = window_mask(q);
    auto [out, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(
        q, k, v, /*dropout_p=*/0.0, /*is_causal=*/!mask, mask);
    saved = {q, k, v, out, log_sum};
    return {by_token(out)};
  }

  Tensors backward(const Tensors& output_gradients, Tensors saved,
                   WeightWork& /*weights*/) override {
    const at::Tensor dy = by_head(output_gradients[0], op_.head_count);
    const std::optional<at::Tensor> mask = window_mask(saved[0]);
    auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        dy, saved[0], saved[1], saved[2], saved[3], saved[4], /*dropout_p=*/0.0,
        /*is_causal=*/!mask, mask);
    return {by_token(dq), by_token(dk), by_token(dv)};
  }

 private:
  /// [B,S,H*E] -> [B,H,S,E], a view
  [[nodiscard]] at::Tensor by_head(const at::Tensor& x, std::int64_t heads) const {
    return x.unflatten(-1, {heads, op_.head_size}).transpose(1, 2);
  }

  /// [B,H,S,E] -> [B,S,H*E]; no copy where the kernel wrote it token by token
  [[nodiscard]] static at::Tensor by_token(const at::Tensor& x) {
    return x.transpose(1, 2).flatten(2);
  }

  /// [S,S]: 0 where a query may look, -infinity elsewhere; none when the window holds the sequence.
  [[nodiscard]] std::optional<at::Tensor> window_mask(const at::Tensor& q) const {
    const std::int64_t sequence = q.size(2);
    if (!op_.window || *op_.window >= sequence) return std::nullopt;
    const at::Tensor place = at::arange(sequence, q.options().dtype(at::kLong));
    const at::Tensor distance = place.unsqueeze(1) - place.unsqueeze(0);
    const at::Tensor hidden = distance.lt(0).logical_or_(distance.ge(*op_.window));
    return at::zeros({sequence, sequence}, q.options())
        .masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  }

  AttentionOp op_;
};

}  // namespace

std::unique_ptr<OperatorModule> make_rope(const RopeOp& op, std::shared_ptr<RopeTables> tables) {
  return std::make_unique<Rope>(op, std::move(tables));
}

std::unique_ptr<OperatorModule> make_attention(const AttentionOp& op) {
  return std::make_unique<Attention>(op);
}

}  // namespace ppplan::executor
