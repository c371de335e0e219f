// One description of a struct serves its reader and its writer: `describe(io, value)` names each
// key once, and `io` is a MappingReader or a MappingWriter. What is written is therefore what is
// read.
//
//   template <typename Io>
//   void describe(Io& io, Like<Timing> auto& timing) {
//     io("median_s", timing.median);
//     io("spread", timing.spread);
//     io("repeats", timing.repeats);
//   }
//
// A rule that spans keys goes into `validate(value, fields)` beside it; the reader calls it.
#pragma once

#include "reports/documents/node.h"
#include "reports/documents/units.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ppplan {

/// T or const T: a struct being read or written.
template <typename Argument, typename T>
concept Like = std::same_as<std::remove_cvref_t<Argument>, T>;

template <typename T>
concept Validated = requires(const T& value, const Fields& fields) {
  validate(value, fields);
};

/// Fills a struct from the keys of a mapping; complaints are Fields'.
class MappingReader {
 public:
  explicit MappingReader(Fields fields) : fields_(std::move(fields)) {}

  void operator()(std::string_view key, std::string& value) { value = fields_.text(key); }
  void operator()(std::string_view key, bool& value) { value = fields_.boolean(key); }
  void operator()(std::string_view key, Seconds& value) { value = fields_.seconds(key); }
  void operator()(std::string_view key, Bytes& value) { value = fields_.bytes(key); }
  void operator()(std::string_view key, BytesPerSecond& value) {
    value = fields_.bytes_per_second(key);
  }
  void operator()(std::string_view key, int& value, IntegerRange range = {0, 1'000'000'000}) {
    value = fields_.count(key, range);
  }
  void operator()(std::string_view key, std::int64_t& value, IntegerRange range = {}) {
    value = fields_.integer(key, range);
  }
  void operator()(std::string_view key, std::uint64_t& value);
  void operator()(std::string_view key, double& value, NumberRange range = {}) {
    value = fields_.number(key, range);
  }
  void operator()(std::string_view key, std::vector<std::int64_t>& value, IntegerRange range = {}) {
    value = fields_.integers(key, range);
  }
  void operator()(std::string_view key, std::vector<int>& value,
                  IntegerRange range = {0, 1'000'000'000});
  void operator()(std::string_view key, std::vector<double>& value, NumberRange range = {}) {
    value = fields_.numbers(key, range);
  }
  void operator()(std::string_view key, std::vector<Seconds>& value) { value = fields_.times(key); }
  void operator()(std::string_view key, std::vector<Bytes>& value) { value = fields_.sizes(key); }
  void operator()(std::string_view key, std::vector<std::string>& value) {
    value = fields_.texts(key);
  }

  /// Numbers that may be .nan or .inf: what a training computed.
  void any(std::string_view key, double& value) { value = fields_.any_number(key); }
  void any(std::string_view key, std::vector<double>& value) { value = fields_.any_numbers(key); }

  void optional_any(std::string_view key, std::optional<double>& value) {
    value.reset();
    if (fields_.has(key)) value = fields_.any_number(key);
  }

  /// A word that stands for an enumerator or an index.
  template <typename T>
  void word(std::string_view key, T& value, const std::vector<std::string>& words) {
    value = static_cast<T>(fields_.word(key, words));
  }

  /// The version of this program, for files that pass between programs of one build only.
  void tool_version();

  /// Whether the key stands in the file (`written`: whether a writer should put it there).
  [[nodiscard]] bool holds(std::string_view key, bool /*written*/) { return fields_.has(key); }

  /// A key that may be absent.
  template <typename T, typename... Range>
  void optional(std::string_view key, std::optional<T>& value, Range... range) {
    value.reset();
    if (fields_.has(key)) (*this)(key, value.emplace(), range...);
  }

  /// A key that is left out where it holds what `usual` says.
  template <typename T, typename... Range>
  void usually(std::string_view key, T& value, const T& usual, Range... range) {
    value = usual;
    if (fields_.has(key)) (*this)(key, value, range...);
  }
  template <typename T>
  void usual_word(std::string_view key, T& value, const T& usual,
                  const std::vector<std::string>& words) {
    value = usual;
    if (fields_.has(key)) word(key, value, words);
  }

  template <typename T>
  void optional_word(std::string_view key, std::optional<T>& value,
                     const std::vector<std::string>& words) {
    value.reset();
    if (fields_.has(key)) word(key, value.emplace(), words);
  }

  /// A nested mapping. `more` is passed on to `describe`.
  template <typename T, typename... More>
  void row(std::string_view key, T& value, const More&... more) {
    fill(fields_.map(key), value, more...);
  }
  /// A nested mapping that may be absent.
  template <typename T>
  void optional_row(std::string_view key, std::optional<T>& value) {
    value.reset();
    if (fields_.has(key)) row(key, value.emplace());
  }
  /// A list of mappings that is left out where it is empty.
  template <typename T, typename... More>
  void optional_rows(std::string_view key, std::vector<T>& values, const More&... more) {
    values.clear();
    if (fields_.has(key)) rows(key, values, more...);
  }
  /// A list of mappings.
  template <typename T, typename... More>
  void rows(std::string_view key, std::vector<T>& values, const More&... more) {
    values.clear();
    for (const Fields& item : fields_.maps(key)) fill(item, values.emplace_back(), more...);
  }
  template <typename T, typename... More>
  void block(std::string_view key, T& value, const More&... more) {
    row(key, value, more...);
  }
  template <typename T>
  void optional_block(std::string_view key, std::optional<T>& value) {
    optional_row(key, value);
  }
  template <typename T, typename... More>
  void blocks(std::string_view key, std::vector<T>& values, const More&... more) {
    rows(key, values, more...);
  }
  void lines(std::string_view key, std::vector<std::string>& values) {
    values = fields_.texts(key);
  }

  /// Reads one struct in full: its keys, nothing but its keys, and its rules.
  template <typename T, typename... More>
  static void fill(const Fields& fields, T& value, const More&... more) {
    MappingReader io(fields);
    describe(io, value, more...);
    fields.done();
    if constexpr (Validated<T>) validate(value, fields);
  }

  [[nodiscard]] const Fields& fields() const { return fields_; }

 private:
  Fields fields_;
};

/// Writes the same keys: as "{key: value, ...}" on one line, or as one line a key.
class MappingWriter {
 public:
  enum class Style { kRow, kBlock };

  explicit MappingWriter(Style style, int indent = 0) : style_(style), indent_(indent) {}

  template <typename T, typename... Range>
  void operator()(std::string_view key, const T& value, const Range&... /*range*/) {
    put(key, yaml(value));
  }
  template <typename T>
  void any(std::string_view key, const T& value) {
    put(key, yaml(value));
  }
  void optional_any(std::string_view key, const std::optional<double>& value) {
    if (value) put(key, yaml(*value));
  }
  template <typename T>
  void word(std::string_view key, const T& value, const std::vector<std::string>& words) {
    put(key, yaml(words.at(static_cast<std::size_t>(value))));
  }
  void tool_version() { put("tool_version", yaml(std::string_view(PPPLAN_VERSION))); }
  [[nodiscard]] bool holds(std::string_view /*key*/, bool written) { return written; }
  template <typename T, typename... Range>
  void optional(std::string_view key, const std::optional<T>& value, const Range&... /*range*/) {
    if (value) put(key, yaml(*value));
  }
  template <typename T, typename... Range>
  void usually(std::string_view key, const T& value, const T& usual, const Range&... /*range*/) {
    if (value != usual) put(key, yaml(value));
  }
  template <typename T>
  void usual_word(std::string_view key, const T& value, const T& usual,
                  const std::vector<std::string>& words) {
    if (value != usual) word(key, value, words);
  }
  template <typename T>
  void optional_word(std::string_view key, const std::optional<T>& value,
                     const std::vector<std::string>& words) {
    if (value) word(key, *value, words);
  }
  /// One line.
  template <typename T, typename... More>
  void row(std::string_view key, const T& value, const More&... more) {
    put(key, nested(Style::kRow, 0, value, more...));
  }
  template <typename T>
  void optional_row(std::string_view key, const std::optional<T>& value) {
    if (value) row(key, *value);
  }
  template <typename T, typename... More>
  void optional_rows(std::string_view key, const std::vector<T>& values, const More&... more) {
    if (!values.empty()) rows(key, values, more...);
  }
  /// One line an item.
  template <typename T, typename... More>
  void rows(std::string_view key, const std::vector<T>& values, const More&... more) {
    std::vector<std::string> items;
    items.reserve(values.size());
    for (const T& value : values) items.push_back(nested(Style::kRow, 0, value, more...));
    put_list(key, items);
  }
  /// One line a key, indented.
  template <typename T, typename... More>
  void block(std::string_view key, const T& value, const More&... more) {
    put_block(key, nested(Style::kBlock, indent_ + kStep, value, more...));
  }
  template <typename T>
  void optional_block(std::string_view key, const std::optional<T>& value) {
    if (value) block(key, *value);
  }
  /// Items of one line a key each.
  template <typename T, typename... More>
  void blocks(std::string_view key, const std::vector<T>& values, const More&... more) {
    std::vector<std::string> items;
    items.reserve(values.size());
    for (const T& value : values)
      items.push_back(nested(Style::kBlock, indent_ + 2 * kStep, value, more...));
    put_blocks(key, items);
  }
  /// Texts, one a line.
  void lines(std::string_view key, const std::vector<std::string>& values);

  /// The finished text; of a block it ends in a new line.
  [[nodiscard]] std::string take();

  /// Values as YAML; texts are quoted when they would be read as something else.
  static std::string yaml(std::string_view text);
  static std::string yaml(const std::string& text) { return yaml(std::string_view(text)); }
  static std::string yaml(double number);
  static std::string yaml(bool truth) { return truth ? "true" : "false"; }
  static std::string yaml(int number) { return std::to_string(number); }
  static std::string yaml(std::int64_t number) { return std::to_string(number); }
  static std::string yaml(std::uint64_t number) { return std::to_string(number); }
  static std::string yaml(Seconds time) { return yaml(time.count()); }
  static std::string yaml(Bytes size) { return yaml(size.count); }
  static std::string yaml(BytesPerSecond rate) { return yaml(rate.value); }
  template <typename T>
  static std::string yaml(const std::vector<T>& values) {
    std::vector<std::string> items;
    items.reserve(values.size());
    for (const T& value : values) items.push_back(yaml(value));
    return list(items);
  }

 private:
  static constexpr int kStep = 2;

  template <typename T, typename... More>
  static std::string nested(Style style, int indent, const T& value, const More&... more) {
    MappingWriter io(style, indent);
    describe(io, value, more...);
    return io.take();
  }
  static std::string list(const std::vector<std::string>& items);
  void put(std::string_view key, std::string_view value);
  void put_list(std::string_view key, const std::vector<std::string>& items);
  void put_block(std::string_view key, const std::string& text);
  void put_blocks(std::string_view key, const std::vector<std::string>& items);

  Style style_;
  int indent_;
  std::string text_;
};

/// The name and major version in a document's first line: "ppplan.profile/1".
struct Schema {
  std::string_view kind;
  int version = 1;
};

/// Throws unless `fields` start a document of this schema.
void check_schema(const Fields& fields, Schema schema);
/// "schema: ppplan.KIND/VERSION\n"
std::string schema_line(Schema schema);

/// Reads a whole document: its schema line first, then a T. Throws Error(kBadInput), also for
/// another kind of document and for another version.
template <typename T>
T read_document(std::string_view text, const std::string& name, Schema schema) {
  const ParsedFile file = parse_yaml(text, name);
  const Fields fields(file, file.root);
  check_schema(fields, schema);
  T value;
  MappingReader::fill(fields, value);
  return value;
}

/// The document's text; `read_document` of it gives an equal value. Throws Error(kBadInput) when a
/// text in it is not UTF-8.
template <typename T>
std::string write_document(const T& value, Schema schema) {
  MappingWriter io(MappingWriter::Style::kBlock);
  describe(io, value);
  return schema_line(schema) + io.take();
}

}  // namespace ppplan
