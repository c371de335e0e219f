#include "reports/documents/mapping.h"

#include "reports/documents/error.h"
#include "reports/documents/excerpt.h"
#include "reports/documents/scalar.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>

namespace ppplan {
namespace {

constexpr std::string_view kSchemaPrefix = "ppplan.";

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

/// Words that YAML 1.1 readers take for null, booleans or numbers.
bool is_reserved(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  static constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no",  "on",
                                                "off",  "y",    "n",     "nan", "inf", "infinity"};
  return std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords);
}

/// Digits, hexadecimal letters and what else a number, date or version is made of.
bool looks_numeric(std::string_view text) {
  return std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
         text.find_first_not_of("0123456789abcdefABCDEFoOxX_.+-") == std::string_view::npos;
}

/// Whether every YAML reader takes the bare text for that text, in a flow collection too.
bool is_plain(std::string_view text) {
  if (text.empty() || text.back() == ' ' || is_reserved(text) || looks_numeric(text)) return false;
  if (!is_letter_or_digit(text.front()) && text.front() != '_' && text.front() != '/') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) ||
           std::string_view("_/.-+ %()=").find(c) != std::string_view::npos;
  });
}

/// The escape of a character that must not stand bare between double quotes; empty when it may.
std::string escape(std::string_view character) {
  if (character == "\"" || character == "\\") return "\\" + std::string(character);
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  const auto first = static_cast<unsigned char>(character[0]);
  if (first < 0x20 || first == 0x7F) return fmt::format("\\x{:02x}", first);
  if (character.size() == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0) {
    return fmt::format("\\x{:02x}", static_cast<unsigned char>(character[1]));  // U+0080 to U+009F
  }
  if (character == "\xE2\x80\xA8") return "\\u2028";
  if (character == "\xE2\x80\xA9") return "\\u2029";
  if (character == "\xEF\xBB\xBF") return "\\ufeff";
  return {};
}

}  // namespace

void MappingReader::operator()(std::string_view key, std::uint64_t& value) {
  const Node& node = fields_.node(key);
  const char* const end = node.scalar.data() + node.scalar.size();
  const auto [stop, code] = std::from_chars(node.scalar.data(), end, value);
  const bool number =
      node.kind == Node::Kind::kScalar && !node.quoted && code == std::errc{} && stop == end;
  if (!number)
    fields_.fail(key, "expected a whole number from 0 to 2^64 - 1, found " + describe(node));
}

void MappingReader::operator()(std::string_view key, std::vector<int>& value, IntegerRange range) {
  range.most = std::min<std::int64_t>(range.most, INT32_MAX);
  value.clear();
  for (const std::int64_t number : fields_.integers(key, range))
    value.push_back(static_cast<int>(number));
}

void MappingReader::tool_version() {
  const std::string found = fields_.text("tool_version");
  if (found == PPPLAN_VERSION) return;
  fields_.fail("tool_version", fmt::format("expected {}, found {}", PPPLAN_VERSION, excerpt(found)),
               "ppplan and ppplan-worker must come from one build");
}

void MappingWriter::lines(std::string_view key, const std::vector<std::string>& values) {
  std::vector<std::string> items;
  items.reserve(values.size());
  for (const std::string& value : values) items.push_back(yaml(value));
  put_list(key, items);
}

std::string MappingWriter::take() {
  return style_ == Style::kRow ? fmt::format("{{{}}}", text_) : std::move(text_);
}

std::string MappingWriter::yaml(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string quoted = "\"";
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    if (length == 0) {
      throw Error(Failure::kBadInput,
                  fmt::format("expected UTF-8 text, found \"{}\"", excerpt(text)),
                  "rename what is named so");
    }
    const std::string escaped = escape(rest.substr(0, length));
    quoted += escaped.empty() ? std::string(rest.substr(0, length)) : escaped;
    rest.remove_prefix(length);
  }
  return quoted + "\"";
}

std::string MappingWriter::yaml(double number) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number > 0 ? ".inf" : "-.inf";
  std::string text = fmt::format("{}", number);
  // YAML 1.1 readers take "1e-05" for a text.
  const std::size_t exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos)
    text.insert(exponent, ".0");
  return text;
}

std::string MappingWriter::list(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

void MappingWriter::put(std::string_view key, std::string_view value) {
  if (style_ == Style::kRow) {
    fmt::format_to(std::back_inserter(text_), "{}{}: {}", text_.empty() ? "" : ", ", key, value);
  } else {
    fmt::format_to(std::back_inserter(text_), "{:{}}{}: {}\n", "", indent_, key, value);
  }
}

void MappingWriter::put_list(std::string_view key, const std::vector<std::string>& items) {
  if (style_ == Style::kRow || items.empty()) return put(key, list(items));
  fmt::format_to(std::back_inserter(text_), "{:{}}{}:\n", "", indent_, key);
  for (const std::string& item : items) {
    fmt::format_to(std::back_inserter(text_), "{:{}}- {}\n", "", indent_ + kStep, item);
  }
}

void MappingWriter::put_block(std::string_view key, const std::string& text) {
  fmt::format_to(std::back_inserter(text_), "{:{}}{}:\n{}", "", indent_, key, text);
}

void MappingWriter::put_blocks(std::string_view key, const std::vector<std::string>& items) {
  if (items.empty()) return put(key, list(items));
  fmt::format_to(std::back_inserter(text_), "{:{}}{}:\n", "", indent_, key);
  const auto dash = static_cast<std::size_t>(indent_) + kStep;
  for (std::string item : items) {
    item[dash] = '-';
    text_ += item;
  }
}

std::string schema_line(Schema schema) {
  return fmt::format("schema: {}{}/{}\n", kSchemaPrefix, schema.kind, schema.version);
}

void check_schema(const Fields& fields, Schema schema) {
  const std::string wanted = fmt::format("{}{}/{}", kSchemaPrefix, schema.kind, schema.version);
  if (!fields.has("schema")) {
    fields.fail("schema", fmt::format("expected {}, found no such key", wanted),
                fmt::format("is this a {} that ppplan wrote?", schema.kind));
  }
  const std::string found = fields.text("schema");
  if (found == wanted) return;
  const std::string kind = found.substr(0, found.find('/'));
  const std::string expectation = fmt::format("expected {}, found {}", wanted, excerpt(found));
  if (kind == fmt::format("{}{}", kSchemaPrefix, schema.kind)) {
    fields.fail(
        "schema",
        fmt::format("{}: ppplan {} reads version {}", expectation, PPPLAN_VERSION, schema.version),
        "use the ppplan that wrote it, or write the file again with this one");
  }
  fields.fail("schema", expectation,
              fmt::format("give a file that starts with schema: {}", wanted));
}

}  // namespace ppplan
