// How ranks exchange tensors: one interface over Gloo (processes) and memory (threads).
#pragma once

#include "reports/documents/error.h"
#include "reports/documents/job.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::executor {

/// A transfer failed because another rank is gone or silent; that rank's failure came first.
class PeerLost : public Error {
 public:
  explicit PeerLost(const std::string& message)
      : Error(Failure::kRuntime, message, "look at the failure of the other rank") {}
};

/// A transfer under way. Its tensor is held until it is done.
class Transfer {
 public:
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;
  /// Blocks until done. Throws PeerLost.
  virtual void wait() = 0;
};

/// Point-to-point exchange between the ranks of one job. Transfers of one (sender, receiver, tag)
/// match in the order they are posted; contiguous tensors only. Used from one thread.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int rank_count() const = 0;
  virtual std::unique_ptr<Transfer> send(const at::Tensor& tensor, int peer, int tag) = 0;
  virtual std::unique_ptr<Transfer> receive(const at::Tensor& into, int peer, int tag) = 0;
  /// Element-wise sums over all ranks, the same bits on each; also a barrier. Throws PeerLost.
  virtual std::vector<double> sum(const std::vector<double>& values) = 0;
};

/// Ranks that are processes, over c10d's Gloo. Rank 0 serves the rendezvous store on `listen_fd`
/// when given, else on host:port. Local hosts bind loopback without a name look-up. Throws PeerLost
/// when the others do not come within the time-out, Error(kRuntime) naming address:port when it is
/// taken.
std::unique_ptr<Transport> make_gloo_transport(const Rendezvous& rendezvous, int rank,
                                               int rank_count, std::optional<int> listen_fd);

/// Ranks that are threads of this process; entry r belongs to rank r. Throws PeerLost once any of
/// them is destroyed while others wait.
std::vector<std::unique_ptr<Transport>> make_memory_transports(int rank_count);

}  // namespace ppplan::executor
