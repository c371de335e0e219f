// Python files that the PyTorch exporter copies out as they are; embedded at build time.
#pragma once

#include <string_view>

namespace ppplan::exports {

extern const std::string_view kPytorchTrain;
extern const std::string_view kPytorchHfStages;

}  // namespace ppplan::exports
