// One positioned reader for YAML and JSON: every value knows its file, line and column, so that
// every complaint can name them. Inputs are hostile: size, depth and node count are bounded;
// anchors, aliases and tags are refused.
#pragma once

#include "reports/documents/units.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ppplan {

/// 1-based place of a value in its file; columns count bytes.
struct Position {
  int line = 1;
  int column = 1;

  auto operator<=>(const Position&) const = default;
};

/// A parsed value. Scalars keep their text; a reader gives it a type when it asks.
struct Node {
  enum class Kind { kNull, kScalar, kSequence, kMapping };

  struct Entry;

  Kind kind = Kind::kNull;
  Position position;
  std::string scalar;          ///< text of a kScalar
  bool quoted = false;         ///< a quoted scalar is text, never a number or a boolean
  std::vector<Node> items;     ///< of a kSequence
  std::vector<Entry> entries;  ///< of a kMapping, in file order; keys are unique after parsing
};

struct Node::Entry {
  std::string key;
  Position position;
  Node value;
};

/// A parsed file. `warnings` holds what was tolerated ("file:1:8: duplicate key ...", JSON only).
struct ParsedFile {
  std::string name;  ///< as shown in messages; "-" is standard input
  Node root;
  std::vector<std::string> warnings;
  bool ends_mid_line = false;  ///< YAML without a last line end: perhaps cut short
};

/// Parse a text. `name` is what messages call it. Throw Error(kBadInput) "name:line:column: ..."
/// for anything that is not one well-formed document in UTF-8. YAML refuses duplicate keys,
/// anchors, aliases and tags. JSON accepts a byte-order mark and the words Infinity, -Infinity and
/// NaN (Python writes them); of a duplicate key the last value counts (as in Python) and a warning
/// is added; a text cut short is told with its byte offset. O(size) time and memory.
ParsedFile parse_yaml(std::string_view text, const std::string& name);
ParsedFile parse_json(std::string_view text, const std::string& name);

/// Whole numbers a key may hold, both ends included.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;
};

/// Finite numbers a key may hold, both ends included.
struct NumberRange {
  double least = 0.0;
  double most = 1e300;
};

/// Reads a mapping key by key. Every getter throws Error(kBadInput)
/// "file:line:column: key: expected ..., found ..." with a hint; `done()` refuses keys that no
/// getter asked for ("did you mean"). Getters of one key may be called repeatedly. The ParsedFile
/// must outlive its Fields.
class Fields {
 public:
  /// `path` is the dotted name of the mapping inside its document ("" at the top). Throws when
  /// `node` is no mapping.
  Fields(const ParsedFile& file, const Node& node, std::string path = {});

  /// True when the key is there and is not null.
  [[nodiscard]] bool has(std::string_view key) const;
  /// True when the key is there, null or not.
  [[nodiscard]] bool mentions(std::string_view key) const;

  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, IntegerRange range = {}) const;
  [[nodiscard]] int count(std::string_view key, IntegerRange range = {0, 1'000'000'000}) const;
  [[nodiscard]] double number(std::string_view key, NumberRange range = {}) const;
  /// Any number, .nan, .inf and -.inf included: what a training computed may be that.
  [[nodiscard]] double any_number(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const;
  [[nodiscard]] Seconds seconds(std::string_view key) const;
  [[nodiscard]] Bytes bytes(std::string_view key) const;  ///< at most 2^53
  [[nodiscard]] BytesPerSecond bytes_per_second(std::string_view key) const;
  /// The index of the value in `words`. The message lists the words and the nearest one.
  [[nodiscard]] std::size_t word(std::string_view key, const std::vector<std::string>& words) const;

  [[nodiscard]] Fields map(std::string_view key) const;
  [[nodiscard]] std::vector<Fields> maps(std::string_view key) const;  ///< a sequence of mappings
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key,
                                                   IntegerRange range = {}) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view key, NumberRange range = {}) const;
  [[nodiscard]] std::vector<double> any_numbers(std::string_view key) const;
  [[nodiscard]] std::vector<Seconds> times(std::string_view key) const;
  [[nodiscard]] std::vector<Bytes> sizes(std::string_view key) const;  ///< each at most 2^53

  /// The raw value, for what no getter fits; throws when the key is absent.
  [[nodiscard]] const Node& node(std::string_view key) const;
  /// All keys in file order.
  [[nodiscard]] std::vector<std::string> keys() const;

  /// Throws for the first key no getter has asked for, with the nearest known key as a hint.
  void done() const;

  /// "file:line:column: path.key: " + what, as an Error(kBadInput); for rules that span keys.
  [[noreturn]] void fail(std::string_view key, const std::string& what,
                         std::string hint = {}) const;
  /// The same prefix, for warnings.
  [[nodiscard]] std::string where(std::string_view key) const;

 private:
  [[nodiscard]] const Node* optional_node(std::string_view key) const;
  /// Calls read(item, path) for each item of the list of `of_what`.
  template <typename Read>
  void each(std::string_view key, const char* of_what, const Read& read) const;

  const ParsedFile* file_;
  const Node* node_;
  std::string path_;
  std::shared_ptr<std::vector<std::string>> asked_;  ///< shared by copies of one Fields
};

/// The word of `known` nearest to `word` by edit distance, when it is near enough to be a slip.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known);

}  // namespace ppplan
