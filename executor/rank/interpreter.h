// Runs one rank's part of a schedule: the action list is the program, stages and transport its
// machine.
#pragma once

#include "executor/layers/stage_module.h"
#include "executor/rank/batch.h"
#include "executor/transport/transport.h"
#include "planner/schedule/schedule.h"
#include "reports/documents/units.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ppplan::executor {

/// Shapes of the tensors between stages: [micro_batches[i], sequence, hidden].
struct BoundaryShape {
  std::vector<int> micro_batches;  ///< samples of each micro-batch
  std::int64_t sequence = 0;
  std::int64_t hidden = 0;
};

/// Where a rank's time went in one pass over its actions.
struct PassTimes {
  Seconds forward{0};
  Seconds backward{0};       ///< full, input and weight
  Seconds communication{0};  ///< posting sends and receives, and waiting for old sends
  Seconds idle{0};           ///< waiting for tensors of other ranks
};

/// Called when a stage that starts with an embedding, or ends with a head, needs a micro-batch.
using BatchOf = std::function<const Batch&(int micro_batch)>;

class Interpreter {
 public:
  /// `schedule` has communication (with_communication) and passed the checker. `stages`: this
  /// rank's, by stage index. All outlive the interpreter.
  Interpreter(const planner::Schedule& schedule,
              std::map<int, std::unique_ptr<StageModule>>& stages, Transport& transport,
              BoundaryShape shape);

  /// Runs the rank's actions once. `loss_gradient` is the gradient of the summed loss: 1 / labelled
  /// tokens of the global batch makes it a mean. Gradients are added to. Throws PeerLost when
  /// another rank is gone; `running()` then says at which action.
  PassTimes run(const BatchOf& batch_of, double loss_gradient);

  /// Summed loss of the last pass; 0 on ranks without the last stage.
  [[nodiscard]] double loss() const { return loss_; }
  /// The action under way, as text ("1B3"); empty outside `run`.
  [[nodiscard]] const std::string& running() const { return running_; }

 private:
  struct Receive {
    at::Tensor tensor;
    std::unique_ptr<Transfer> transfer;
  };
  using Key = std::pair<int, int>;  ///< (stage, micro-batch)

  void execute(const planner::Action& action, const BatchOf& batch_of);
  void post_receives();
  void forward(const planner::Action& action, const BatchOf& batch_of);
  void backward(const planner::Action& action, WeightWork::When when);
  void send(const planner::Action& action);
  at::Tensor take(std::map<Key, at::Tensor>& local, std::map<Key, Receive>& received, Key key);
  [[nodiscard]] int tag(const planner::Action& sending) const;

  const planner::Schedule* schedule_;
  std::map<int, std::unique_ptr<StageModule>>* stages_;
  Transport* transport_;
  BoundaryShape shape_;
  std::vector<planner::Action> receives_;  ///< this rank's, in order

  // State of one pass.
  std::size_t posted_ = 0;
  std::size_t reached_ = 0;                               ///< receives that the program has come to
  std::map<Key, Receive> activations_in_, gradients_in_;  ///< keyed by the receiving stage
  std::map<Key, at::Tensor> activations_here_, gradients_here_;  ///< from a stage of this rank
  std::map<Key, at::Tensor> outputs_, input_gradients_;          ///< waiting to be sent
  std::vector<std::unique_ptr<Transfer>> sends_;                 ///< oldest first
  PassTimes times_;
  double loss_ = 0.0;
  double loss_gradient_ = 0.0;
  std::string running_;
};

}  // namespace ppplan::executor
