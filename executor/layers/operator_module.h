// One operator of a layer's program, with its own backward: no autograd graph is built, so that
// what is kept between forward and backward, and when a weight gradient is computed, is ours to
// decide.
#pragma once

#include "executor/layers/parameters.h"
#include "reports/documents/model.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ppplan::executor {

using Tensors = std::vector<at::Tensor>;

/// The weight gradients of one backward: computed at once (a full backward, B), or kept for later
/// (I now, W later; Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2).
class WeightWork {
 public:
  enum class When { kNow, kLater };

  explicit WeightWork(When when = When::kNow) : when_(when) {}

  void add(std::function<void()> work) {
    if (when_ == When::kNow) {
      work();
    } else {
      kept_.push_back(std::move(work));
    }
  }

  /// Does what was kept, in order, and lets go of its tensors one by one.
  void finish() {
    for (std::function<void()>& work : kept_) {
      work();
      work = nullptr;
    }
    kept_.clear();
  }

 private:
  When when_;
  std::vector<std::function<void()>> kept_;
};

class OperatorModule {
 public:
  OperatorModule() = default;
  OperatorModule(const OperatorModule&) = delete;
  OperatorModule& operator=(const OperatorModule&) = delete;
  virtual ~OperatorModule() = default;

  /// Outputs of `inputs`; appends to `saved` what `backward` needs.
  virtual Tensors forward(const Tensors& inputs, Tensors& saved) = 0;

  /// Gradients of the inputs (undefined where an input takes none) from those of the outputs and
  /// from what the same forward saved. Weight gradients are added through `weights`.
  virtual Tensors backward(const Tensors& output_gradients, Tensors saved, WeightWork& weights) = 0;
};

/// Rotary tables, shared by all layers of a rank: cos and sin, each [S, E/2].
class RopeTables {
 public:
  explicit RopeTables(at::Device device) : device_(device) {}
  /// Throws Error(kBadInput) for a scaling the executor does not run. The first call for a rope and
  /// a longer sequence computes; later ones look up.
  std::pair<at::Tensor, at::Tensor> get(const RopeOp& rope, std::int64_t sequence);

 private:
  struct Entry {
    RopeOp rope;
    at::Tensor cosine;
    at::Tensor sine;
  };
  at::Device device_;
  std::vector<Entry> entries_;
};

/// Finds a layer's tensor by its name in the layer kind.
using FindTensor = std::function<std::shared_ptr<TrainedTensor>(const std::string&)>;

std::unique_ptr<OperatorModule> make_linear(const LinearOp& op, const FindTensor& find);
std::unique_ptr<OperatorModule> make_embedding(const EmbeddingOp& op, const FindTensor& find);
std::unique_ptr<OperatorModule> make_position_embedding(const PositionEmbeddingOp& op,
                                                        const FindTensor& find);
std::unique_ptr<OperatorModule> make_rms_norm(const RmsNormOp& op, const FindTensor& find);
std::unique_ptr<OperatorModule> make_layer_norm(const LayerNormOp& op, const FindTensor& find);
std::unique_ptr<OperatorModule> make_rope(const RopeOp& op, std::shared_ptr<RopeTables> tables);
std::unique_ptr<OperatorModule> make_attention(const AttentionOp& op);
std::unique_ptr<OperatorModule> make_activation(const ActivationOp& op);
std::unique_ptr<OperatorModule> make_gated_activation(const GatedActivationOp& op);
std::unique_ptr<OperatorModule> make_add();
std::unique_ptr<OperatorModule> make_split(const SplitOp& op);
std::unique_ptr<OperatorModule> make_linear_cross_entropy(const LinearCrossEntropyOp& op,
                                                          const FindTensor& find);

}  // namespace ppplan::executor
