#include "executor/rank/interpreter.h"

#include "planner/schedule/text.h"

#include <ATen/ATen.h>

#include <chrono>
#include <utility>

namespace ppplan::executor {

using planner::Action;
using planner::ActionKind;

namespace {

/// Receives posted before their tensor is needed: one that is awaited and one that may arrive
/// meanwhile.
constexpr std::size_t kReceivesAhead = 2;
/// Sends under way before the oldest is waited for. The checker proves the order free of deadlock
/// even when every send blocks, so any bound is safe.
constexpr std::size_t kSendsUnderWay = 4;

/// Adds the time from its construction to its end to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(Seconds& sum) : sum_(&sum) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { *sum_ += std::chrono::steady_clock::now() - start_; }

 private:
  Seconds* sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

bool is_receive(ActionKind kind) {
  return kind == ActionKind::kReceiveActivation || kind == ActionKind::kReceiveGradient;
}

}  // namespace

Interpreter::Interpreter(const planner::Schedule& schedule,
                         std::map<int, std::unique_ptr<StageModule>>& stages, Transport& transport,
                         BoundaryShape shape)
    : schedule_(&schedule), stages_(&stages), transport_(&transport), shape_(std::move(shape)) {
  for (const Action& action : schedule.ranks[static_cast<std::size_t>(transport.rank())]) {
    if (is_receive(action.kind)) receives_.push_back(action);
  }
}

PassTimes Interpreter::run(const BatchOf& batch_of, double loss_gradient) {
  posted_ = reached_ = 0;
  times_ = {};
  loss_ = 0.0;
  loss_gradient_ = loss_gradient;
  post_receives();
  for (const Action& action : schedule_->ranks[static_cast<std::size_t>(transport_->rank())]) {
    running_ = planner::to_text(action);
    execute(action, batch_of);
  }
  {
    const Stopwatch watch(times_.communication);
    for (const std::unique_ptr<Transfer>& transfer : sends_) transfer->wait();
    sends_.clear();
  }
  running_.clear();
  return times_;
}

void Interpreter::execute(const Action& action, const BatchOf& batch_of) {
  switch (action.kind) {
    case ActionKind::kForward:
      return forward(action, batch_of);
    case ActionKind::kBackward:
      return backward(action, WeightWork::When::kNow);
    case ActionKind::kBackwardInput:
      return backward(action, WeightWork::When::kLater);
    case ActionKind::kBackwardWeight: {
      const Stopwatch watch(times_.backward);
      return stages_->at(action.stage)->backward_weight(action.micro_batch);
    }
    case ActionKind::kSendActivation:
    case ActionKind::kSendGradient:
      return send(action);
    case ActionKind::kReceiveActivation:
    case ActionKind::kReceiveGradient:
      ++reached_;
      return post_receives();  // waited for by the action that needs the tensor
  }
}

void Interpreter::post_receives() {
  const Stopwatch watch(times_.communication);
  while (posted_ < receives_.size() && posted_ < reached_ + kReceivesAhead) {
    const Action& action = receives_[posted_++];
    const bool forward = action.kind == ActionKind::kReceiveActivation;
    const int peer_stage = forward ? action.stage - 1 : action.stage + 1;
    Receive receive;
    receive.tensor = at::empty({shape_.micro_batches[static_cast<std::size_t>(action.micro_batch)],
                                shape_.sequence, shape_.hidden},
                               at::TensorOptions(at::kFloat));
    const Action sending{forward ? ActionKind::kSendActivation : ActionKind::kSendGradient, false,
                         peer_stage, action.micro_batch};
    receive.transfer = transport_->receive(
        receive.tensor, schedule_->rank_of_stage[static_cast<std::size_t>(peer_stage)],
        tag(sending));
    (forward ? activations_in_ : gradients_in_)
        .emplace(Key{action.stage, action.micro_batch}, std::move(receive));
  }
}

/// The tensor a compute action needs: left by a neighbouring stage of this rank, or received.
at::Tensor Interpreter::take(std::map<Key, at::Tensor>& local, std::map<Key, Receive>& received,
                             Key key) {
  if (const auto found = local.find(key); found != local.end()) {
    at::Tensor tensor = std::move(found->second);
    local.erase(found);
    return tensor;
  }
  const auto found = received.find(key);
  {
    const Stopwatch watch(times_.idle);
    found->second.transfer->wait();
  }
  at::Tensor tensor = std::move(found->second.tensor);
  received.erase(found);
  return tensor;
}

void Interpreter::forward(const Action& action, const BatchOf& batch_of) {
  const Key key{action.stage, action.micro_batch};
  const int last_stage = schedule_->stage_count() - 1;
  LayerInput input;
  if (action.stage > 0) input.x = take(activations_here_, activations_in_, key);
  const Stopwatch watch(times_.forward);
  if (action.stage == 0) input.x = batch_of(action.micro_batch).tokens;
  if (action.stage == last_stage) input.labels = batch_of(action.micro_batch).labels;
  at::Tensor output = stages_->at(action.stage)->forward(action.micro_batch, std::move(input));
  if (action.stage == last_stage) {
    loss_ += output.item<double>();
    return;
  }
  const bool here =
      schedule_->rank_of_stage[static_cast<std::size_t>(action.stage + 1)] == transport_->rank();
  const Key next{action.stage + 1, action.micro_batch};
  (here ? activations_here_[next] : outputs_[key]) = std::move(output);
}

void Interpreter::backward(const Action& action, WeightWork::When when) {
  const Key key{action.stage, action.micro_batch};
  const bool last = action.stage + 1 == schedule_->stage_count();
  at::Tensor gradient = last ? at::scalar_tensor(loss_gradient_, at::TensorOptions(at::kDouble))
                             : take(gradients_here_, gradients_in_, key);
  const Stopwatch watch(times_.backward);
  gradient = stages_->at(action.stage)->backward(action.micro_batch, std::move(gradient), when);
  if (action.stage == 0) return;
  const bool here =
      schedule_->rank_of_stage[static_cast<std::size_t>(action.stage - 1)] == transport_->rank();
  const Key previous{action.stage - 1, action.micro_batch};
  (here ? gradients_here_[previous] : input_gradients_[key]) = std::move(gradient);
}

void Interpreter::send(const Action& action) {
  const Stopwatch watch(times_.communication);
  const bool forward = action.kind == ActionKind::kSendActivation;
  std::map<Key, at::Tensor>& waiting = forward ? outputs_ : input_gradients_;
  const auto found = waiting.find({action.stage, action.micro_batch});
  const int peer_stage = forward ? action.stage + 1 : action.stage - 1;
  const int peer = schedule_->rank_of_stage[static_cast<std::size_t>(peer_stage)];
  sends_.push_back(transport_->send(found->second.contiguous(), peer, tag(action)));
  waiting.erase(found);
  if (sends_.size() > kSendsUnderWay) {
    sends_.front()->wait();
    sends_.erase(sends_.begin());
  }
}

/// One tag for each tensor of a pass, so that no order of posting can confuse two.
int Interpreter::tag(const Action& sending) const {
  const int direction = sending.kind == ActionKind::kSendActivation ? 0 : 1;
  return (sending.stage * schedule_->micro_batch_count + sending.micro_batch) * 2 + direction;
}

}  // namespace ppplan::executor
