#include "executor/launch/listening_socket.h"

#include "reports/documents/error.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace ppplan::launch {
namespace {

/// Ranks that may knock before rank 0 accepts.
constexpr int kBacklog = 1024;

std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace

ListeningSocket::ListeningSocket(const std::string& host, int port) : host_(host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    throw Error(Failure::kBadInput,
                fmt::format("expected a numeric IPv4 address, found '{}'", host));
  }
  descriptor_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0) {
    throw Error(Failure::kRuntime, "cannot make a socket: " + reason(errno));
  }
  // A port that a finished run has just left may be taken again at once; one in use may not.
  const int reuse = 1;
  setsockopt(descriptor_, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (bind(descriptor_, generic, size) != 0 || listen(descriptor_, kBacklog) != 0 ||
      getsockname(descriptor_, generic, &size) != 0) {
    const int error = errno;
    close();
    throw Error(Failure::kRuntime,
                fmt::format("cannot listen on {}:{}: {}", host, port, reason(error)),
                port == 0 ? "check that the loopback interface is up (ip addr show lo)"
                          : "leave out --port to take any free port");
  }
  port_ = ntohs(address.sin_port);
}

ListeningSocket::~ListeningSocket() {
  close();
}

void ListeningSocket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace ppplan::launch
