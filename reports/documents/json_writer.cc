#include "reports/documents/json_writer.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <utility>

namespace ppplan {
namespace {

/// Bytes of the well-formed UTF-8 character at the start of `text`, or 0 (Unicode 15, table 3-7).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const auto follows = [&](std::size_t at, unsigned least = 0x80, unsigned most = 0xBF) {
    return byte(at) >= least && byte(at) <= most;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned least = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned most = first == 0xED ? 0x9F : 0xBF;
    return follows(1, least, most) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned least = first == 0xF0 ? 0x90 : 0x80;
    const unsigned most = first == 0xF4 ? 0x8F : 0xBF;
    return follows(1, least, most) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
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
