// Builds the tree of nodes from a parser's events, for YAML and JSON alike, and keeps hostile input
// harmless: nesting and node count are bounded, keys are unique in the end.
#pragma once

#include "reports/documents/node.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ppplan {

/// Deepest nesting of mappings and sequences in a document.
inline constexpr std::size_t kMaxDepth = 64;
/// Most values (keys included) in a document.
inline constexpr std::size_t kMaxNodes = 4'000'000;

/// Throws Error(kBadInput) "name:line:column: what".
[[noreturn]] void fail_at(const std::string& name, Position position, const std::string& what,
                          std::string hint = {});

/// The text without a leading UTF-8 byte-order mark.
std::string_view without_byte_order_mark(std::string_view text);

/// Throws when `text` is not UTF-8 or holds control characters other than tab, line feed and
/// carriage return. O(size).
void check_text(std::string_view text, const std::string& name);

/// What happens to a key that a mapping holds twice.
enum class DuplicateKeys { kRefused, kLastCounts };

/// Receives values in document order. Inside a mapping, keys and values alternate.
class TreeBuilder {
 public:
  TreeBuilder(std::string name, DuplicateKeys duplicates);

  /// A value, or a key when a mapping waits for one. Throws when a key is null.
  void null(Position position);
  void plain(std::string text, Position position);
  void quoted(std::string text, Position position);
  /// A mapping or sequence begins. Throws beyond the limits.
  void open(Node::Kind kind, Position position);
  /// The innermost mapping or sequence ends. Throws, or warns, for duplicate keys.
  void close();

  [[nodiscard]] const std::string& name() const { return file_.name; }
  /// The finished document. Precondition: every `open` has its `close`.
  ParsedFile take() { return std::move(file_); }

 private:
  struct Frame {
    Node node;
    bool has_key = false;
    std::string key;
    Position key_position;
  };

  void count(Position position);
  void leaf(Node node);
  void place(Node node);
  void resolve_duplicates(std::vector<Node::Entry>& entries);

  ParsedFile file_;
  DuplicateKeys duplicates_;
  std::vector<Frame> frames_;
  std::size_t node_count_ = 0;
};

}  // namespace ppplan
