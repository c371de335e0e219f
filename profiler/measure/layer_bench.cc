#include "profiler/measure/layer_bench.h"

#include "executor/layers/memory_counter.h"

#include <ATen/ATen.h>

#include <chrono>
#include <string>
#include <utility>

namespace ppplan::profiler {

using executor::LayerInput;
using executor::LayerModule;
using executor::WeightWork;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

LayerBench::LayerBench(const Model& model, int kind, int instance_count)
    : hidden_(model.hidden), vocabulary_(model.vocabulary), store_(/*seed=*/0, at::kCPU) {
  const LayerKind& description = model.kinds[static_cast<std::size_t>(kind)];
  role_ = description.role;
  const auto tables = std::make_shared<executor::RopeTables>(at::kCPU);
  for (int instance = 0; instance < instance_count; ++instance) {
    const auto find = [&](const std::string& name) {
      for (const Parameter& parameter : description.parameters) {
        if (parameter.name == name) {
          return store_.get(std::to_string(instance) + "." + name, parameter, /*frozen=*/false);
        }
      }
      return std::shared_ptr<executor::TrainedTensor>();
    };
    layers_.push_back(std::make_unique<LayerModule>(description, find, tables));
  }
  optimizer_.emplace(store_, executor::AdamWOptions{});
  work_.resize(layers_.size());
}

LayerInput LayerBench::input(const LayerShape& shape) const {
  LayerInput result;
  if (role_ == LayerRole::kEmbedding) {
    result.x =
        at::randint(vocabulary_, {shape.micro_batch, shape.sequence}, at::TensorOptions(at::kLong));
  } else {
    result.x = at::randn({shape.micro_batch, shape.sequence, hidden_});
  }
  if (role_ == LayerRole::kHead) {
    result.labels =
        at::randint(vocabulary_, {shape.micro_batch, shape.sequence}, at::TensorOptions(at::kLong));
  }
  return result;
}

at::Tensor LayerBench::output_gradient(const LayerShape& shape) const {
  if (role_ == LayerRole::kHead) return at::scalar_tensor(1e-3, at::TensorOptions(at::kDouble));
  return at::randn({shape.micro_batch, shape.sequence, hidden_}).mul_(1e-3);
}

double LayerBench::forward(const LayerShape& shape) {
  saved_.assign(layers_.size(), {});
  const LayerInput first = input(shape);
  at::Tensor x = first.x;
  const Clock::time_point start = Clock::now();
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    at::Tensor out = layers_[layer]->forward({std::move(x), first.labels}, saved_[layer]);
    // Blocks follow one another; embeddings and heads each take the first input.
    x = role_ == LayerRole::kBlock ? std::move(out) : first.x;
  }
  return seconds_since(start);
}

double LayerBench::backward(const LayerShape& shape, WeightWork::When when) {
  const at::Tensor first = output_gradient(shape);
  at::Tensor gradient = first;
  const Clock::time_point start = Clock::now();
  for (std::size_t layer = layers_.size(); layer-- > 0;) {
    work_[layer] = WeightWork(when);
    at::Tensor dx =
        layers_[layer]->backward(std::move(gradient), std::move(saved_[layer]), work_[layer]);
    gradient = role_ == LayerRole::kBlock ? std::move(dx) : first;
  }
  return seconds_since(start);
}

FullPass LayerBench::run_full(const LayerShape& shape) {
  const auto count = static_cast<double>(layers_.size());
  FullPass pass;
  pass.forward_s = forward(shape) / count;
  pass.backward_s = backward(shape, WeightWork::When::kNow) / count;
  return pass;
}

SplitPass LayerBench::run_split(const LayerShape& shape) {
  const auto count = static_cast<double>(layers_.size());
  SplitPass pass;
  forward(shape);
  pass.backward_input_s = backward(shape, WeightWork::When::kLater) / count;
  const Clock::time_point start = Clock::now();
  for (WeightWork& work : work_) work.finish();
  pass.backward_weight_s = seconds_since(start) / count;
  return pass;
}

LayerMemory LayerBench::memory(const LayerShape& shape) {
  run_full(shape);  // so that tables and kernels' own buffers are there before counting
  LayerMemory result;
  LayerModule& layer = *layers_.front();
  const Bytes empty = executor::current_memory();
  LayerInput first = input(shape);
  const at::Tensor labels = std::move(first.labels);
  const Bytes label_bytes{labels.defined() ? static_cast<std::int64_t>(labels.nbytes()) : 0};
  LayerModule::Saved saved;
  Bytes start = executor::current_memory();
  executor::reset_peak_memory();
  at::Tensor out = layer.forward({std::move(first.x), labels}, saved);
  result.forward_peak = executor::peak_memory() - start;
  if (role_ != LayerRole::kHead) {
    result.output = Bytes{static_cast<std::int64_t>(out.nbytes())};
  }
  out.reset();
  result.saved = executor::current_memory() - empty - label_bytes;

  at::Tensor gradient = output_gradient(shape);
  start = executor::current_memory();
  executor::reset_peak_memory();
  WeightWork now(WeightWork::When::kNow);
  layer.backward(std::move(gradient), std::move(saved), now);
  result.backward_peak = executor::peak_memory() - start;

  saved = {};
  WeightWork later(WeightWork::When::kLater);
  layer.forward({input(shape).x, labels}, saved);
  layer.backward(output_gradient(shape), std::move(saved), later);
  result.weight_pending = executor::current_memory() - empty - label_bytes;
  later.finish();
  return result;
}

double LayerBench::run_optimizer() {
  const Clock::time_point start = Clock::now();
  optimizer_->step();
  store_.clear_gradients();
  return seconds_since(start) / static_cast<double>(layers_.size());
}

}  // namespace ppplan::profiler
