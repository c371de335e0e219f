#include "reports/documents/json_writer.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <utility>

namespace ppplan {
namespace {

/// Bytes a character takes that starts with `first`; 0 when none does.
std::size_t announced_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF5 ? 4 : 0;
}

/// Bytes of the well-formed UTF-8 character at the start of `text`, or 0 (Unicode 15, table 3-7).
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = announced_length(first);
  if (length > text.size()) return 0;
  for (std::size_t at = 1; at < length; ++at) {
    unsigned char least = 0x80;
    unsigned char most = 0xBF;
    if (at == 1 && first == 0xE0) least = 0xA0;  // shorter forms exist
    if (at == 1 && first == 0xED) most = 0x9F;   // surrogates
    if (at == 1 && first == 0xF0) least = 0x90;
    if (at == 1 && first == 0xF4) most = 0x8F;  // beyond U+10FFFF
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < least || byte > most) return 0;
  }
  return length;
}

void append_escaped(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const char first = text.front();
    if (length == 0) {
      out += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += first;
    } else if (first == '\n') {
      out += "\\n";
    } else if (first == '\t') {
      out += "\\t";
    } else if (length == 1 && (static_cast<unsigned char>(first) < 0x20 || first == 0x7F)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(first));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

}  // namespace

JsonWriter& JsonWriter::key(std::string_view name) {
  assert(!levels_.empty() && levels_.back().end == '}' && !after_key_);
  separate();
  append_escaped(text_, name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_escaped(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(fmt::format("{}", number)) : null();
}

std::string JsonWriter::take() {
  assert(levels_.empty() && !after_key_);
  text_ += '\n';
  return std::exchange(text_, {});
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  levels_.push_back({.end = bracket == '{' ? '}' : ']'});
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  assert(!levels_.empty() && levels_.back().end == bracket && !after_key_);
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && !level.inline_items) text_ += '\n' + std::string(2 * levels_.size(), ' ');
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  text_ += text;
  return *this;
}

void JsonWriter::separate() {
  if (std::exchange(after_key_, false) || levels_.empty()) return;
  Level& level = levels_.back();
  if (!std::exchange(level.empty, false)) text_ += level.inline_items ? ", " : ",";
  if (!level.inline_items) text_ += '\n' + std::string(2 * levels_.size(), ' ');
}

}  // namespace ppplan
