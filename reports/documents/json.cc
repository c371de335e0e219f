// JSON: RapidJSON's events become nodes. Numbers keep their text, so that nothing is rounded before
// a reader asks for a type.
#include "reports/documents/error.h"
#include "reports/documents/node.h"
#include "reports/documents/tree_builder.h"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ppplan {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kBetweenTokens = " \t\r\n,:";

/// Turns byte offsets, asked in ascending order, into lines and columns.
class Places {
 public:
  explicit Places(std::string_view text) : text_(text) {}

  Position at(std::size_t offset) {
    for (; seen_ < offset; ++seen_) {
      if (text_[seen_] != '\n') continue;
      ++line_;
      line_start_ = seen_ + 1;
    }
    return {line_, static_cast<int>(offset - line_start_) + 1};
  }

 private:
  std::string_view text_;
  std::size_t seen_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

/// RapidJSON's handler concept. An event arrives when its token has been read; the token began at
/// the first character after the previous one that is neither blank nor separator.
class Events {
 public:
  Events(std::string_view text, const rapidjson::MemoryStream& stream, std::string name)
      : text_(text),
        stream_(stream),
        places_(text),
        builder_(std::move(name), DuplicateKeys::kLastCounts) {}

  // NOLINTBEGIN(readability-identifier-naming): the concept's names
  bool Null() { return builder_.null(next_place()), true; }
  bool Bool(bool value) { return builder_.plain(value ? "true" : "false", next_place()), true; }
  bool RawNumber(const char* digits, rapidjson::SizeType length, bool /*copy*/) {
    std::string number(digits, length);
    const Position position = next_place();
    if (number == "Inf" || number == "-Inf") {
      fail_at(builder_.name(), position, "expected a value, found " + number);
    }
    return builder_.plain(std::move(number), position), true;
  }
  bool String(const char* chars, rapidjson::SizeType length, bool /*copy*/) {
    return builder_.quoted(std::string(chars, length), next_place()), true;
  }
  bool Key(const char* chars, rapidjson::SizeType length, bool copy) {
    return String(chars, length, copy);
  }
  bool StartObject() { return open(Node::Kind::kMapping); }
  bool StartArray() { return open(Node::Kind::kSequence); }
  bool EndObject(rapidjson::SizeType /*count*/) { return close(); }
  bool EndArray(rapidjson::SizeType /*count*/) { return close(); }

  // Part of the concept; numbers arrive as RawNumber.
  bool Int(int /*value*/) { return false; }
  bool Uint(unsigned /*value*/) { return false; }
  bool Int64(std::int64_t /*value*/) { return false; }
  bool Uint64(std::uint64_t /*value*/) { return false; }
  bool Double(double /*value*/) { return false; }
  // NOLINTEND(readability-identifier-naming)

  ParsedFile take() { return builder_.take(); }

 private:
  bool open(Node::Kind kind) {
    builder_.open(kind, next_place());
    return true;
  }
  bool close() {
    token_end_ = stream_.Tell();
    builder_.close();
    return true;
  }
  Position next_place() {
    const std::size_t start = text_.find_first_not_of(kBetweenTokens, token_end_);
    token_end_ = stream_.Tell();
    return places_.at(start);
  }

  std::string_view text_;
  const rapidjson::MemoryStream& stream_;
  Places places_;
  TreeBuilder builder_;
  std::size_t token_end_ = 0;
};

[[noreturn]] void fail_parse(std::string_view text, const std::string& name,
                             const rapidjson::ParseResult& result, std::size_t reached) {
  if (reached > text.find_last_not_of(kBlanks)) {
    fail_at(name, Places(text).at(text.size()),
            fmt::format("expected more JSON, found the end of the file after byte {}", text.size()),
            "the file is cut short; copy or download it again");
  }
  const std::size_t offset = std::min(result.Offset(), text.size());
  const std::size_t previous =
      offset == 0 ? std::string_view::npos : text.find_last_not_of(kBlanks, offset - 1);
  const bool closing = offset < text.size() && (text[offset] == '}' || text[offset] == ']');
  const bool trailing_comma =
      closing && previous != std::string_view::npos && text[previous] == ',';
  if (trailing_comma) {
    fail_at(name, Places(text).at(previous), "expected a value after the comma, found none",
            "remove the comma; JSON has none before } or ]");
  }
  fail_at(name, Places(text).at(offset),
          fmt::format("not well-formed JSON: {}", rapidjson::GetParseError_En(result.Code())));
}

}  // namespace

ParsedFile parse_json(std::string_view text, const std::string& name) {
  text = without_byte_order_mark(text);
  check_text(text, name);
  if (text.find_first_not_of(kBlanks) == std::string_view::npos) {
    fail_at(name, {}, "expected JSON, found an empty file");
  }
  rapidjson::MemoryStream stream(text.data(), text.size());
  Events events(text, stream, name);
  rapidjson::Reader reader;
  constexpr unsigned kFlags =
      rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, events);
  if (result.IsError()) fail_parse(text, name, result, stream.Tell());
  return events.take();
}

}  // namespace ppplan
