#include "executor/rank/check_model.h"

#include "executor/layers/stage_module.h"
#include "executor/layers/weight_files.h"
#include "executor/rank/batch.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace ppplan::executor {
namespace {

Batch read_tokens(const std::filesystem::path& path, std::int64_t vocabulary) {
  std::istringstream text(read_file(path));
  std::vector<std::int64_t> tokens;
  std::int64_t samples = 0;
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    const std::size_t before = tokens.size();
    for (std::int64_t token = 0; words >> token;) {
      if (token < 0 || token >= vocabulary) {
        throw Error(Failure::kBadInput, path.string() + ": token " + std::to_string(token) +
                                            " is outside the vocabulary of " +
                                            std::to_string(vocabulary));
      }
      tokens.push_back(token);
    }
    samples += tokens.size() > before ? 1 : 0;
  }
  if (samples == 0 || static_cast<std::int64_t>(tokens.size()) % samples != 0) {
    throw Error(Failure::kBadInput, path.string() + ": expected lines of equally many tokens");
  }
  Batch batch;
  batch.tokens = at::tensor(tokens, at::kLong).view({samples, -1});
  batch.labels = at::full_like(batch.tokens, -1);
  const std::int64_t labelled = batch.tokens.size(1) - 1;
  batch.labels.narrow(1, 0, labelled).copy_(batch.tokens.narrow(1, 1, labelled));
  return batch;
}

}  // namespace

void check_model(const Model& model, const std::filesystem::path& weights,
                 const std::filesystem::path& tokens, const std::filesystem::path& out) {
  const c10::InferenceMode no_autograd;
  ParameterStore store(/*seed=*/0, at::kCPU);
  StageModule stage(model, 0, static_cast<int>(model.layers.size()), store,
                    std::make_shared<RopeTables>(at::kCPU));
  const WeightFiles files(weights);
  for (const auto& [name, tensor] : store.all()) files.read_into(name, tensor->value);
  const Batch batch = read_tokens(tokens, model.vocabulary);
  const auto labelled = static_cast<double>(batch.tokens.size(0) * (batch.tokens.size(1) - 1));

  std::map<std::string, at::Tensor> result;
  result["logits"] = stage.forward(0, {batch.tokens, at::Tensor()});
  result["loss"] = stage.forward(1, {batch.tokens, batch.labels}).div(labelled).view({1});
  stage.backward(1, at::scalar_tensor(1.0 / labelled, at::TensorOptions(at::kDouble)),
                 WeightWork::When::kNow);
  for (const auto& [name, tensor] : store.all()) result["grad." + name] = tensor->gradient;
  write_safetensors(out, result);
}

}  // namespace ppplan::executor
