// Whether ranks can meet: the loopback interface, and the interface that Gloo would take between
// hosts.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ppplan::profiler {

struct NetworkFacts {
  std::optional<std::string>
      loopback_problem;  ///< empty when 127.0.0.1 can be listened on and reached
  std::string host_name;
  std::vector<std::string> host_addresses;    ///< what it resolves to
  std::optional<std::string> host_interface;  ///< holds one of them: Gloo's choice between hosts
  std::vector<std::string> interfaces;        ///< all that are up, "lo" included
};

/// Binds, connects and looks the own host name up, which may ask a name server. Never throws.
NetworkFacts read_network();

}  // namespace ppplan::profiler
