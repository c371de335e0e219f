#include "reports/documents/unclosed.h"

#include <vector>

namespace ppplan {
namespace {

/// Reads a text once; `open_` is the path from its outermost open bracket to its innermost.
class Scanner {
 public:
  void read(char character) {
    if (character == '\n') {
      position_ = {position_.line + 1, 1};
      in_comment_ = false;
      blank_before_ = true;
      if (open_.empty()) last_ = '\0';
      return;
    }
    if (quoted()) {
      read_quoted(character);
    } else if (!in_comment_) {
      read_plain(character);
    }
    ++position_.column;
  }

  [[nodiscard]] std::optional<Unclosed> innermost() const {
    return open_.empty() ? std::nullopt : std::optional(open_.back());
  }

 private:
  [[nodiscard]] bool quoted() const {
    return !open_.empty() && (open_.back().opened == '"' || open_.back().opened == '\'');
  }
  /// True where a value may begin; elsewhere brackets and quotes are part of plain text.
  [[nodiscard]] bool value_begins() const {
    constexpr std::string_view kInBlock("\0:-?", 4);
    constexpr std::string_view kInFlow("[{,:");
    if (!open_.empty()) return kInFlow.find(last_) != std::string_view::npos;
    return blank_before_ && kInBlock.find(last_) != std::string_view::npos;
  }

  /// A doubled '' closes and, as a value may begin after it here, opens again.
  void read_quoted(char character) {
    if (escaped_) {
      escaped_ = false;
    } else if (character == '\\' && open_.back().opened == '"') {
      escaped_ = true;
    } else if (character == open_.back().opened) {
      open_.pop_back();
      last_ = ':';
      blank_before_ = true;
    }
  }

  void read_plain(char character) {
    if (character == ' ' || character == '\t' || character == '\r') {
      blank_before_ = true;
      return;
    }
    if (character == '#' && blank_before_) {
      in_comment_ = true;
      return;
    }
    const bool bracket = character == '{' || character == '[';
    const bool quote = character == '"' || character == '\'';
    if ((bracket || quote) && value_begins()) {
      open_.push_back({.opened = character, .position = position_});
    } else if ((character == '}' || character == ']') && !open_.empty()) {
      open_.pop_back();
    }
    last_ = character;
    blank_before_ = false;
  }

  std::vector<Unclosed> open_;
  Position position_;
  char last_ = '\0';  ///< the last character that is not blank, on this line outside brackets
  bool blank_before_ = true;
  bool in_comment_ = false;
  bool escaped_ = false;
};

}  // namespace

std::optional<Unclosed> find_unclosed(std::string_view text) {
  Scanner scanner;
  for (const char character : text) scanner.read(character);
  return scanner.innermost();
}

}  // namespace ppplan
