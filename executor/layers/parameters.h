// The trainable tensors of one rank, by global name. A tied tensor is stored once.
#pragma once

#include "reports/documents/model.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace ppplan::executor {

/// A trainable tensor. Operators add to `gradient` in place; it is undefined for a frozen one.
struct TrainedTensor {
  std::string name;  ///< global
  at::Tensor value;
  at::Tensor gradient;
};

/// Seed of one parameter's values: a function of the run's seed and the global name alone, so that
/// weights do not depend on how the model is cut.
std::uint64_t parameter_seed(std::uint64_t seed, const std::string& name);

class ParameterStore {
 public:
  ParameterStore(std::uint64_t seed, at::Device device) : seed_(seed), device_(device) {}

  /// The tensor of that name, made and initialized on first use. Precondition: one shape a name.
  std::shared_ptr<TrainedTensor> get(const std::string& name, const Parameter& parameter,
                                     bool frozen);

  /// All tensors, ordered by name.
  [[nodiscard]] const std::map<std::string, std::shared_ptr<TrainedTensor>>& all() const {
    return tensors_;
  }

  void clear_gradients();

 private:
  std::uint64_t seed_;
  at::Device device_;
  std::map<std::string, std::shared_ptr<TrainedTensor>> tensors_;
};

}  // namespace ppplan::executor
