#include "executor/layers/parameters.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace ppplan::executor {

std::uint64_t parameter_seed(std::uint64_t seed, const std::string& name) {
  // FNV-1a over the name, mixed with the seed by SplitMix64's finalizer (Steele et al., OOPSLA
  // 2014).
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  }
  std::uint64_t mixed = hash + seed * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31U);
}

namespace {

/// Values are drawn on the CPU whatever the device, so that they are the same on each.
at::Tensor initial_value(const Parameter& parameter, std::uint64_t seed) {
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(at::kCPU);
  switch (parameter.init) {
    case Init::kZeros:
      return at::zeros(parameter.shape, options);
    case Init::kOnes:
      return at::ones(parameter.shape, options);
    case Init::kNormal:
      break;
  }
  at::Tensor value = at::empty(parameter.shape, options);
  value.normal_(0.0, parameter.init_std, at::detail::createCPUGenerator(seed));
  return value;
}

}  // namespace

std::shared_ptr<TrainedTensor> ParameterStore::get(const std::string& name,
                                                   const Parameter& parameter, bool frozen) {
  std::shared_ptr<TrainedTensor>& tensor = tensors_[name];
  if (!tensor) {
    tensor = std::make_shared<TrainedTensor>();
    tensor->name = name;
    tensor->value = initial_value(parameter, parameter_seed(seed_, name)).to(device_);
  }
  if (!frozen && !tensor->gradient.defined()) tensor->gradient = at::zeros_like(tensor->value);
  return tensor;
}

void ParameterStore::clear_gradients() {
  for (const auto& [name, tensor] : tensors_) {
    if (tensor->gradient.defined()) tensor->gradient.zero_();
  }
}

}  // namespace ppplan::executor
