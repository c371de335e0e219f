#include "executor/layers/layer_module.h"

#include <ATen/ATen.h>

#include <map>
#include <utility>
#include <variant>

namespace ppplan::executor {
namespace {

constexpr int kInputSlot = 0;
constexpr int kLabelSlot = 1;

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

std::unique_ptr<OperatorModule> make_operator(const OperatorBody& body, const FindTensor& find,
                                              const std::shared_ptr<RopeTables>& tables) {
  return std::visit(
      Overloaded{
          [&](const EmbeddingOp& op) { return make_embedding(op, find); },
          [&](const PositionEmbeddingOp& op) { return make_position_embedding(op, find); },
          [&](const LinearOp& op) { return make_linear(op, find); },
          [&](const RmsNormOp& op) { return make_rms_norm(op, find); },
          [&](const LayerNormOp& op) { return make_layer_norm(op, find); },
          [&](const RopeOp& op) { return make_rope(op, tables); },
          [](const AttentionOp& op) { return make_attention(op); },
          [](const ActivationOp& op) { return make_activation(op); },
          [](const GatedActivationOp& op) { return make_gated_activation(op); },
          [](const AddOp&) { return make_add(); },
          [](const SplitOp& op) { return make_split(op); },
          [&](const LinearCrossEntropyOp& op) { return make_linear_cross_entropy(op, find); },
      },
      body);
}

/// Adds `incoming` to a slot's gradient. A tensor that nobody else holds is added to in place; one
/// that is shared (a residual's gradient goes to both its inputs) never is.
void accumulate(at::Tensor& slot, at::Tensor incoming) {
  const auto alone = [](const at::Tensor& t) {
    return t.use_count() == 1 && t.storage().use_count() == 1;
  };
  if (!slot.defined()) {
    slot = std::move(incoming);
  } else if (alone(incoming)) {
    slot = incoming.add_(slot);
  } else if (alone(slot)) {
    slot.add_(incoming);
  } else {
    slot = at::add(slot, incoming);
  }
}

}  // namespace

LayerModule::LayerModule(const LayerKind& kind, const FindTensor& find,
                         const std::shared_ptr<RopeTables>& tables) {
  // Every assignment gets a slot of its own, so that backward can run over the same slots.
  std::map<std::string, int> slot_of{
      {"tokens", kInputSlot}, {"x", kInputSlot}, {"labels", kLabelSlot}};
  slot_count_ = 2;
  std::map<int, std::size_t> last_reader;
  for (const Operator& op : kind.program) {
    Step step;
    step.module = make_operator(op.body, find, tables);
    for (const std::string& name : op.inputs) {
      step.inputs.push_back(slot_of.at(name));
      last_reader[step.inputs.back()] = steps_.size();
    }
    for (const std::string& name : op.outputs) {
      slot_of[name] = slot_count_;
      step.outputs.push_back(slot_count_++);
    }
    steps_.push_back(std::move(step));
  }
  output_slot_ = slot_of.at(kind.role == LayerRole::kHead ? "loss" : "x");
  for (const auto& [slot, reader] : last_reader) {
    if (slot != output_slot_) steps_[reader].released.push_back(slot);
  }
}

at::Tensor LayerModule::forward(LayerInput input, Saved& saved) {
  std::vector<at::Tensor> slots(static_cast<std::size_t>(slot_count_));
  slots[kInputSlot] = std::move(input.x);
  slots[kLabelSlot] = std::move(input.labels);
  saved.resize(steps_.size());
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    Step& step = steps_[at];
    Tensors inputs;
    inputs.reserve(step.inputs.size());
    for (const int slot : step.inputs) inputs.push_back(slots[static_cast<std::size_t>(slot)]);
    for (const int slot : step.released) slots[static_cast<std::size_t>(slot)].reset();
    Tensors outputs = step.module->forward(inputs, saved[at]);
    for (std::size_t place = 0; place < outputs.size(); ++place) {
      slots[static_cast<std::size_t>(step.outputs[place])] = std::move(outputs[place]);
    }
  }
  return slots[static_cast<std::size_t>(output_slot_)];
}

at::Tensor LayerModule::backward(at::Tensor output_gradient, Saved saved, WeightWork& weights) {
  std::vector<at::Tensor> gradients(static_cast<std::size_t>(slot_count_));
  gradients[static_cast<std::size_t>(output_slot_)] = std::move(output_gradient);
  for (std::size_t at = steps_.size(); at-- > 0;) {
    Step& step = steps_[at];
    Tensors outputs;
    outputs.reserve(step.outputs.size());
    for (const int slot : step.outputs) {
      outputs.push_back(std::move(gradients[static_cast<std::size_t>(slot)]));
    }
    Tensors inputs = step.module->backward(outputs, std::move(saved[at]), weights);
    outputs.clear();  // so that a gradient handed through is held once
    for (std::size_t place = 0; place < inputs.size(); ++place) {
      if (inputs[place].defined()) {
        accumulate(gradients[static_cast<std::size_t>(step.inputs[place])],
                   std::move(inputs[place]));
      }
    }
  }
  return std::move(gradients[kInputSlot]);
}

}  // namespace ppplan::executor
