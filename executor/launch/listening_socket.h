// The socket on which ranks meet. The parent binds it before any rank exists, so that no other
// program can take the port in between, and rank 0 inherits it.
#pragma once

#include <string>

namespace ppplan::launch {

/// A listening TCP socket of this machine; closed when destroyed.
class ListeningSocket {
 public:
  /// Binds `host` (a numeric IPv4 address) at `port`, or at a free port when `port` is 0. No name
  /// is looked up. Throws Error(kRuntime) that names address:port when it cannot be bound.
  explicit ListeningSocket(const std::string& host = "127.0.0.1", int port = 0);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] int port() const { return port_; }

  /// Gives the socket up once a child has inherited it; otherwise the port would outlive that
  /// child.
  void close();

 private:
  int descriptor_ = -1;
  std::string host_;
  int port_ = 0;
};

}  // namespace ppplan::launch
