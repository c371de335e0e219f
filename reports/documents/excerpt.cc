#include "reports/documents/excerpt.h"

#include <fmt/format.h>

#include <cstddef>

namespace ppplan {
namespace {

constexpr std::size_t kExcerptLength = 40;

unsigned char byte_at(std::string_view text, std::size_t place) {
  return static_cast<unsigned char>(text[place]);
}

bool is_control(std::string_view sequence) {
  const unsigned char first = byte_at(sequence, 0);
  const bool c1 = sequence.size() == 2 && first == 0xC2 && byte_at(sequence, 1) < 0xA0;
  return first < 0x20 || first == 0x7F || c1;
}

}  // namespace

std::string excerpt(std::string_view text) {
  std::string shown;
  std::size_t characters = 0;
  while (!text.empty()) {
    if (++characters > kExcerptLength) return shown + "...";
    const std::size_t length = utf8_length(text);
    const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_control(sequence)) {
      for (const char c : sequence)
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      shown += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  return shown;
}

std::string well_formed(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    result += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const unsigned char first = byte_at(text, 0);
  if (first < 0x80) return 1;
  // RFC 3629 section 4: the first byte gives the length and narrows the range of the second.
  const std::size_t length = first < 0xC2   ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte_at(text, 1) < least || byte_at(text, 1) > most) return 0;
  for (std::size_t place = 2; place < length; ++place) {
    if ((byte_at(text, place) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

}  // namespace ppplan
