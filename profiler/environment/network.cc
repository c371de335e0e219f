#include "profiler/environment/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <system_error>

namespace ppplan::profiler {
namespace {

class Socket {
 public:
  Socket() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

std::optional<std::string> try_loopback() {
  const auto reason = [](const std::string& what) {
    return what + ": " + std::generic_category().message(errno);
  };
  const Socket listener;
  const Socket caller;
  if (listener.descriptor() < 0 || caller.descriptor() < 0) return reason("no socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (bind(listener.descriptor(), generic, size) != 0) return reason("127.0.0.1 cannot be bound");
  if (listen(listener.descriptor(), 1) != 0 ||
      getsockname(listener.descriptor(), generic, &size) != 0 ||
      connect(caller.descriptor(), generic, size) != 0) {
    return reason("127.0.0.1 cannot be reached");
  }
  return std::nullopt;
}

/// Numeric text of an IPv4 or IPv6 address; empty for other families.
std::string address_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address != nullptr && address->sa_family == AF_INET) {
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  } else if (address != nullptr && address->sa_family == AF_INET6) {
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  }
  if (bytes == nullptr) return {};
  inet_ntop(address->sa_family, bytes, text.data(), text.size());
  return text.data();
}

/// Addresses of interfaces that are up, with the interface's name.
std::map<std::string, std::string> interface_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::map<std::string, std::string> result;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const std::string address = address_text(entry->ifa_addr);
    if (!address.empty() && (entry->ifa_flags & IFF_UP) != 0) result[address] = entry->ifa_name;
  }
  return result;
}

std::vector<std::string> resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    addresses.push_back(address_text(entry->ai_addr));
  }
  return addresses;
}

}  // namespace

NetworkFacts read_network() {
  NetworkFacts facts;
  facts.loopback_problem = try_loopback();
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0) facts.host_name = name.data();
  facts.host_addresses = resolve(facts.host_name);
  const std::map<std::string, std::string> held = interface_addresses();
  for (const std::string& address : facts.host_addresses) {
    const auto found = held.find(address);
    if (found != held.end() && !facts.host_interface) facts.host_interface = found->second;
  }
  std::set<std::string> names;
  for (const auto& [address, interface] : held) names.insert(interface);
  facts.interfaces.assign(names.begin(), names.end());
  return facts;
}

}  // namespace ppplan::profiler
