#include "executor/launch/listening_socket.h"

#include "reports/documents/error.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

namespace ppplan::launch {
namespace {

TEST_CASE("listening socket: takes a free port of the loopback") {
  const ListeningSocket first;
  const ListeningSocket second;
  CHECK(first.host() == "127.0.0.1");
  CHECK(first.port() > 0);
  CHECK(first.port() != second.port());
}

TEST_CASE("listening socket: a taken port is named with its address") {
  const ListeningSocket holder;
  try {
    const ListeningSocket late("127.0.0.1", holder.port());
    FAIL("the port was taken twice");
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::kRuntime);
    CHECK(std::string(error.what())
              .find(fmt::format("127.0.0.1:{}: Address already in use", holder.port())) !=
          std::string::npos);
  }
}

TEST_CASE("listening socket: a closed one frees its port") {
  ListeningSocket first;
  const int port = first.port();
  first.close();
  CHECK(ListeningSocket("127.0.0.1", port).port() == port);
}

}  // namespace
}  // namespace ppplan::launch
