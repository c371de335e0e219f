// How foreign text is shown in messages: cut short, control characters made visible.
#pragma once

#include <string>
#include <string_view>

namespace ppplan {

/// The text with control characters and broken UTF-8 as "\x1b", cut after about 40 characters with
/// "...".
std::string excerpt(std::string_view text);

/// The text with bytes that are no UTF-8 replaced by U+FFFD.
std::string well_formed(std::string_view text);

/// The byte length (1 to 4) of the well-formed UTF-8 sequence that `text` starts with; 0 when it is
/// none (RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF) or when `text` is
/// empty.
std::size_t utf8_length(std::string_view text);

}  // namespace ppplan
