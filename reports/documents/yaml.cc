// YAML: yaml-cpp's events become nodes. yaml-cpp 0.7 reads in linear time, but queues every token
// of a flow collection (about 235 bytes each) before it reports the first, and takes control
// characters for the end of the file; both are checked before it sees the text.
#include "reports/documents/error.h"
#include "reports/documents/node.h"
#include "reports/documents/tree_builder.h"
#include "reports/documents/unclosed.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

namespace ppplan {
namespace {

/// Most characters that may begin a token: bounds the parser's queue to about a gigabyte.
constexpr std::ptrdiff_t kMaxIndicators = 4'000'000;

Position to_position(const YAML::Mark& mark) {
  return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1};
}

class Events : public YAML::EventHandler {
 public:
  explicit Events(std::string name) : builder_(std::move(name), DuplicateKeys::kRefused) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++document_count_ > 1) {
      fail_at(builder_.name(), to_position(mark), "expected one document, found another after it",
              "split the file at its --- lines");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    builder_.null(to_position(mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    fail_at(builder_.name(), to_position(mark), "expected a value, found an alias",
            "write the value out; * begins an alias");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (tag == "!") {
      builder_.quoted(value, to_position(mark));
    } else {
      builder_.plain(value, to_position(mark));
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    builder_.open(Node::Kind::kSequence, to_position(mark));
  }
  void OnSequenceEnd() override { builder_.close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    builder_.open(Node::Kind::kMapping, to_position(mark));
  }
  void OnMapEnd() override { builder_.close(); }

  ParsedFile take() { return builder_.take(); }

 private:
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor == YAML::NullAnchor) return;
    fail_at(builder_.name(), to_position(mark), "expected a value, found an anchor",
            "& begins an anchor; quote the text if it is meant");
  }
  /// yaml-cpp says "?" for plain values, "!" for quoted ones, and nothing for some collections.
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!") return;
    fail_at(builder_.name(), to_position(mark), "expected a value, found a tag",
            "! begins a tag; quote the text if it is meant");
  }

  TreeBuilder builder_;
  int document_count_ = 0;
};

void check_token_count(std::string_view text, const std::string& name) {
  constexpr std::string_view kIndicators = "[]{},:?\"'!&*";
  const auto count = std::count_if(text.begin(), text.end(), [&](char c) {
    return kIndicators.find(c) != std::string_view::npos;
  });
  if (count > kMaxIndicators) {
    fail_at(
        name, {},
        fmt::format("expected at most {} punctuation characters, found {}", kMaxIndicators, count));
  }
}

std::string_view line_of(std::string_view text, int line) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::string hint_for(std::string_view text, int line) {
  const std::string_view content = line_of(text, line);
  const std::size_t first = content.find_first_not_of(" \t");
  const bool tab =
      content.substr(0, std::min(first, content.size())).find('\t') != std::string_view::npos;
  return tab ? "this line is indented with a tab; YAML wants spaces"
             : "check indentation, quotes and brackets up to this place";
}

/// Of a refused text: throws when it ends within brackets or quotes, which the parser takes for
/// something else in other words.
void explain_cut_text(std::string_view text, const std::string& name) {
  const std::optional<Unclosed> unclosed = find_unclosed(text);
  if (!unclosed) return;
  fail_at(name, unclosed->position,
          fmt::format("not well-formed YAML: the text ends in the middle of what {} opens here",
                      unclosed->opened),
          "was the file cut short? make or copy it again; otherwise close the bracket or quote");
}

}  // namespace

ParsedFile parse_yaml(std::string_view text, const std::string& name) {
  text = without_byte_order_mark(text);
  check_text(text, name);
  check_token_count(text, name);
  Events events(name);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(events)) {
      fail_at(name, {}, "expected a document, found an empty file");
    }
    parser.HandleNextDocument(events);  // complains when there is a second
  } catch (const Error&) {
    explain_cut_text(text, name);
    throw;
  } catch (const YAML::Exception& e) {
    explain_cut_text(text, name);
    const Position position = to_position(e.mark);
    fail_at(name, position, "not well-formed YAML: " + e.msg, hint_for(text, position.line));
  }
  ParsedFile file = events.take();
  file.ends_mid_line = !text.ends_with('\n');
  return file;
}

}  // namespace ppplan
