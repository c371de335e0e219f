#include "executor/transport/shared_weights.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

namespace ppplan::executor {
namespace {

constexpr std::int64_t kChunkElements = 1 << 20;  // 4 MiB: long enough for the link's full rate
constexpr int kMeetingTag = (1 << 30) - 1;        // above every tag of the interpreter
constexpr int kFirstTag = 1 << 30;

/// A chunk on its way in both directions.
struct ChunkExchange {
  at::Tensor own;
  at::Tensor other;
  std::unique_ptr<Transfer> receive;
  std::unique_ptr<Transfer> send;

  void finish() {
    receive->wait();
    send->wait();
    own.add_(other);
  }
};

}  // namespace

std::vector<SharedWeight> shared_weights(const Plan& plan, int rank) {
  std::map<std::string, std::set<int>> ranks_of;
  for (const PlanStage& stage : plan.stages) {
    for (int layer = stage.first_layer; layer < stage.first_layer + stage.layer_count; ++layer) {
      for (const std::string& name : parameter_names(plan.model, layer)) {
        ranks_of[name].insert(stage.rank);
      }
    }
  }
  std::vector<SharedWeight> shared;
  for (const auto& [name, ranks] : ranks_of) {
    if (ranks.size() < 2) continue;
    if (ranks.size() > 2) {
      throw Error(Failure::kBadInput,
                  "tensor '" + name + "' is shared by " + std::to_string(ranks.size()) + " ranks",
                  "the executor keeps tensors of two ranks equal; plan fewer stages");
    }
    if (ranks.contains(rank)) {
      shared.push_back({name, *ranks.begin() == rank ? *ranks.rbegin() : *ranks.begin()});
    }
  }
  return shared;
}

void meet_peers(const std::vector<SharedWeight>& shared, Transport& transport) {
  std::set<int> peers;
  for (const SharedWeight& weight : shared) peers.insert(weight.peer);
  for (const int peer : peers) {
    const at::Tensor here = at::zeros({1}, at::TensorOptions(at::kFloat));
    const at::Tensor there = at::empty_like(here);
    const std::unique_ptr<Transfer> receive = transport.receive(there, peer, kMeetingTag);
    const std::unique_ptr<Transfer> send = transport.send(here, peer, kMeetingTag);
    receive->wait();
    send->wait();
  }
}

void reduce_shared_gradients(const std::vector<SharedWeight>& shared, const ParameterStore& store,
                             Transport& transport) {
  for (std::size_t index = 0; index < shared.size(); ++index) {
    const at::Tensor& gradient = store.all().at(shared[index].name)->gradient;
    if (!gradient.defined()) continue;
    const at::Tensor flat = gradient.view(-1);
    const int tag = kFirstTag + static_cast<int>(index);
    ChunkExchange under_way;
    for (std::int64_t start = 0; start < flat.numel(); start += kChunkElements) {
      ChunkExchange next;
      next.own = flat.narrow(0, start, std::min(kChunkElements, flat.numel() - start));
      next.other = at::empty_like(next.own);
      next.receive = transport.receive(next.other, shared[index].peer, tag);
      next.send = transport.send(next.own, shared[index].peer, tag);
      if (under_way.own.defined()) under_way.finish();
      under_way = std::move(next);
    }
    if (under_way.own.defined()) under_way.finish();
  }
}

}  // namespace ppplan::executor
