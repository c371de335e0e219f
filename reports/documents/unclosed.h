// Finds where YAML text that ends too early was still open, for messages about files cut short.
#pragma once

#include "reports/documents/node.h"

#include <optional>
#include <string_view>

namespace ppplan {

/// A bracket or quote that the end of the text leaves open.
struct Unclosed {
  char opened = '\0';  ///< '{', '[', '"' or '\''
  Position position;
};

/// The innermost one; empty when all are closed. Follows YAML closely enough to explain a text that
/// the parser has refused, not to refuse one: it knows no block scalars. O(length of the text).
std::optional<Unclosed> find_unclosed(std::string_view text);

}  // namespace ppplan
