// Transport between threads of one process: a mailbox for every (sender, receiver, tag).
#include "executor/transport/transport.h"

#include <ATen/ATen.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

namespace ppplan::executor {
namespace {

struct Exchange {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::tuple<int, int, int>, std::deque<at::Tensor>> boxes;  ///< (from, to, tag)
  std::vector<std::vector<double>> contributions;  ///< by rank; of one round of sum
  std::vector<double> total;
  int arrived = 0;
  std::uint64_t round = 0;
  bool broken = false;
};

/// A send is a deposit; it is done at once.
class Deposited final : public Transfer {
 public:
  void wait() override {}
};

class Collection final : public Transfer {
 public:
  Collection(std::shared_ptr<Exchange> exchange, at::Tensor into, std::tuple<int, int, int> box)
      : exchange_(std::move(exchange)), into_(std::move(into)), box_(box) {}

  void wait() override {
    if (!into_.defined()) return;
    at::Tensor arrived;
    {
      std::unique_lock lock(exchange_->mutex);
      std::deque<at::Tensor>& box = exchange_->boxes[box_];
      exchange_->changed.wait(lock, [&] { return !box.empty() || exchange_->broken; });
      if (box.empty()) throw PeerLost("rank " + std::to_string(std::get<0>(box_)) + " is gone");
      arrived = std::move(box.front());
      box.pop_front();
    }
    into_.copy_(arrived);
    into_.reset();
  }

 private:
  std::shared_ptr<Exchange> exchange_;
  at::Tensor into_;
  std::tuple<int, int, int> box_;
};

class MemoryTransport final : public Transport {
 public:
  MemoryTransport(std::shared_ptr<Exchange> exchange, int rank, int rank_count)
      : exchange_(std::move(exchange)), rank_(rank), rank_count_(rank_count) {}
  MemoryTransport(const MemoryTransport&) = delete;
  MemoryTransport& operator=(const MemoryTransport&) = delete;

  ~MemoryTransport() override {
    const std::lock_guard lock(exchange_->mutex);
    exchange_->broken = true;
    exchange_->changed.notify_all();
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int rank_count() const override { return rank_count_; }

  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int peer, int tag) override {
    at::Tensor copy = tensor.clone();
    const std::lock_guard lock(exchange_->mutex);
    exchange_->boxes[{rank_, peer, tag}].push_back(std::move(copy));
    exchange_->changed.notify_all();
    return std::make_unique<Deposited>();
  }

  std::unique_ptr<Transfer> receive(const at::Tensor& into, int peer, int tag) override {
    return std::make_unique<Collection>(exchange_, into, std::tuple{peer, rank_, tag});
  }

  std::vector<double> sum(const std::vector<double>& values) override {
    std::unique_lock lock(exchange_->mutex);
    exchange_->contributions[static_cast<std::size_t>(rank_)] = values;
    if (++exchange_->arrived == rank_count_) {
      exchange_->total.assign(values.size(), 0.0);
      for (const std::vector<double>& part : exchange_->contributions) {  // in rank order
        for (std::size_t at = 0; at < values.size(); ++at) exchange_->total[at] += part[at];
      }
      exchange_->arrived = 0;
      ++exchange_->round;
      exchange_->changed.notify_all();
      return exchange_->total;
    }
    const std::uint64_t round = exchange_->round;
    exchange_->changed.wait(lock, [&] { return exchange_->round != round || exchange_->broken; });
    if (exchange_->round == round) throw PeerLost("a rank is gone");
    return exchange_->total;
  }

 private:
  std::shared_ptr<Exchange> exchange_;
  int rank_;
  int rank_count_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_memory_transports(int rank_count) {
  const auto exchange = std::make_shared<Exchange>();
  exchange->contributions.resize(static_cast<std::size_t>(rank_count));
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < rank_count; ++rank) {
    transports.push_back(std::make_unique<MemoryTransport>(exchange, rank, rank_count));
  }
  return transports;
}

}  // namespace ppplan::executor
