// Transport over c10d::ProcessGroupGloo, with c10d::TCPStore as the rendezvous.
#include "executor/transport/transport.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace ppplan::executor {
namespace {

using std::chrono::milliseconds;

milliseconds as_milliseconds(Seconds time) {
  return std::chrono::duration_cast<milliseconds>(time);
}

/// The first line of a third party's message: the rest is a C++ stack.
std::string first_line(const std::exception& e) {
  const std::string text = e.what();
  return text.substr(0, text.find('\n'));
}

class GlooTransfer final : public Transfer {
 public:
  GlooTransfer(c10::intrusive_ptr<c10d::Work> work, at::Tensor tensor, int peer)
      : work_(std::move(work)), tensor_(std::move(tensor)), peer_(peer) {}

  void wait() override {
    try {
      work_->wait();
    } catch (const std::exception& e) {
      throw PeerLost("transfer with rank " + std::to_string(peer_) + " failed: " + first_line(e));
    }
    tensor_.reset();
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  at::Tensor tensor_;
  int peer_;
};

class GlooTransport final : public Transport {
 public:
  GlooTransport(c10::intrusive_ptr<c10d::Store> store, int rank, int rank_count,
                const Rendezvous& rendezvous)
      : rank_(rank), rank_count_(rank_count) {
    auto options = c10d::ProcessGroupGloo::Options::create(as_milliseconds(rendezvous.timeout));
    const bool local = rendezvous.host == "127.0.0.1" || rendezvous.host == "localhost";
    options->devices.push_back(local ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                     : c10d::ProcessGroupGloo::createDefaultDevice());
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(std::move(store), rank, rank_count,
                                                         std::move(options));
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int rank_count() const override { return rank_count_; }

  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int peer, int tag) override {
    return post(tensor, peer,
                [&](std::vector<at::Tensor>& list) { return group_->send(list, peer, tag); });
  }

  std::unique_ptr<Transfer> receive(const at::Tensor& into, int peer, int tag) override {
    return post(into, peer,
                [&](std::vector<at::Tensor>& list) { return group_->recv(list, peer, tag); });
  }

  std::vector<double> sum(const std::vector<double>& values) override {
    std::vector<at::Tensor> list{at::tensor(values, at::kDouble)};
    try {
      group_->allreduce(list)->wait();
    } catch (const std::exception& e) {
      throw PeerLost("sum over ranks failed: " + first_line(e));
    }
    const double* first = list[0].const_data_ptr<double>();
    return {first, first + list[0].numel()};
  }

 private:
  template <class Post>
  static std::unique_ptr<Transfer> post(const at::Tensor& tensor, int peer, Post&& start) {
    std::vector<at::Tensor> list{tensor};
    try {
      return std::make_unique<GlooTransfer>(start(list), tensor, peer);
    } catch (const std::exception& e) {
      throw PeerLost("transfer with rank " + std::to_string(peer) + " failed: " + first_line(e));
    }
  }

  int rank_;
  int rank_count_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

std::unique_ptr<Transport> make_gloo_transport(const Rendezvous& rendezvous, int rank,
                                               int rank_count, std::optional<int> listen_fd) {
  const std::string place = rendezvous.host + ":" + std::to_string(rendezvous.port);
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(rendezvous.port);
  options.isServer = rank == 0;
  options.waitWorkers = false;
  options.timeout = as_milliseconds(rendezvous.timeout);
  if (rank == 0) options.masterListenFd = listen_fd;
  c10::intrusive_ptr<c10d::Store> store;
  try {
    store = c10::make_intrusive<c10d::TCPStore>(rendezvous.host, options);
  } catch (const std::exception& e) {
    if (rank != 0) throw PeerLost("rank 0 does not answer at " + place + ": " + first_line(e));
    throw Error(Failure::kRuntime, "cannot serve the rendezvous at " + place + ": " + first_line(e),
                "leave the port to ppplan, or name a free one with --port");
  }
  try {
    return std::make_unique<GlooTransport>(std::move(store), rank, rank_count, rendezvous);
  } catch (const std::exception& e) {
    throw PeerLost("ranks did not meet at " + place + ": " + first_line(e));
  }
}

}  // namespace ppplan::executor
