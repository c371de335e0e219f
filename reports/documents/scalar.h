// What the text of a scalar means: the YAML 1.2 core schema (section 10.3), decimal only.
#pragma once

#include "reports/documents/node.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ppplan {

/// "12", "-3", and integral floats ("32.0", "1e6") that a double holds exactly. Empty for other
/// text, fractions and what does not fit 64 bits.
std::optional<std::int64_t> to_integer(std::string_view text);

/// A finite decimal number; empty for other text and on overflow.
std::optional<double> to_number(std::string_view text);

/// As to_number, and the words for infinity and not-a-number (".inf", "-.inf", ".nan", and JSON's).
std::optional<double> to_any_number(std::string_view text);

/// "true" or "false" in the core schema's three spellings.
std::optional<bool> to_boolean(std::string_view text);

/// True when the unquoted text means a number or a boolean.
bool has_other_type(std::string_view text);

/// A node for a message: "null", "a list", "'4096' (text)", "12".
std::string describe(const Node& node);

/// Optimal string alignment distance (insert, delete, replace, swap neighbours).
/// O(|a| |b|) time.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace ppplan
