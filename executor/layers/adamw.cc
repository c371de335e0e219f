#include "executor/layers/adamw.h"

#include <ATen/ATen.h>

namespace ppplan::executor {

AdamW::AdamW(const ParameterStore& store, const AdamWOptions& options) : options_(options) {
  for (const auto& [name, tensor] : store.all()) {
    if (!tensor->gradient.defined()) continue;
    values_.push_back(tensor->value);
    gradients_.push_back(tensor->gradient);
    means_.push_back(at::zeros_like(tensor->value));
    squares_.push_back(at::zeros_like(tensor->value));
    steps_.push_back(at::zeros({}, tensor->value.options()));
  }
}

void AdamW::step() {
  if (values_.empty()) return;
  for (const at::Tensor& step : steps_) step.add_(1);
  at::_fused_adamw_(values_, gradients_, means_, squares_, /*max_exp_avg_sqs=*/{}, steps_,
                    options_.learning_rate, options_.beta1, options_.beta2, options_.weight_decay,
                    options_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
}

}  // namespace ppplan::executor
