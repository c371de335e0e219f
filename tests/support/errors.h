// Looks at the Error that something throws.
#pragma once

#include "reports/documents/error.h"

#include <doctest/doctest.h>

#include <string>

namespace ppplan::test {

/// The message of the Error(kBadInput) that `action` throws; "" with a failed check when it throws
/// none.
template <typename Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::kBadInput);
    return error.what();
  }
  FAIL_CHECK("expected an Error");
  return {};
}

/// The hint of the Error that `action` throws.
template <typename Action>
std::string hint_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.hint();
  }
  FAIL_CHECK("expected an Error");
  return {};
}

}  // namespace ppplan::test
