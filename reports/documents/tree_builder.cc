#include "reports/documents/tree_builder.h"

#include "reports/documents/error.h"
#include "reports/documents/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace ppplan {

void fail_at(const std::string& name, Position position, const std::string& what,
             std::string hint) {
  throw Error(Failure::kBadInput,
              fmt::format("{}:{}:{}: {}", name, position.line, position.column, what),
              std::move(hint));
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

void check_text(std::string_view text, const std::string& name) {
  Position position;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = utf8_length(text.substr(place));
    const auto byte = static_cast<unsigned char>(text[place]);
    if (length == 0) {
      fail_at(name, position, fmt::format("expected UTF-8 text, found the byte 0x{:02x}", byte),
              "is this a text file? save it as UTF-8");
    }
    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F) {
      fail_at(name, position,
              fmt::format("expected text, found the control character 0x{:02x}", byte),
              "is this a text file?");
    }
    place += length;
    if (byte == '\n') {
      position = {position.line + 1, 1};
    } else {
      position.column += static_cast<int>(length);
    }
  }
}

TreeBuilder::TreeBuilder(std::string name, DuplicateKeys duplicates) : duplicates_(duplicates) {
  file_.name = std::move(name);
}

void TreeBuilder::null(Position position) {
  Node node;
  node.position = position;
  leaf(std::move(node));
}

void TreeBuilder::plain(std::string text, Position position) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.position = position;
  node.scalar = std::move(text);
  leaf(std::move(node));
}

void TreeBuilder::quoted(std::string text, Position position) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.position = position;
  node.scalar = std::move(text);
  node.quoted = true;
  leaf(std::move(node));
}

void TreeBuilder::leaf(Node node) {
  count(node.position);
  if (frames_.empty() || frames_.back().node.kind != Node::Kind::kMapping ||
      frames_.back().has_key) {
    return place(std::move(node));
  }
  Frame& mapping = frames_.back();
  if (node.kind != Node::Kind::kScalar) {
    fail_at(name(), node.position, "expected a key, found null",
            "write null in quotes to use it as a key");
  }
  mapping.has_key = true;
  mapping.key = std::move(node.scalar);
  mapping.key_position = node.position;
}

void TreeBuilder::open(Node::Kind kind, Position position) {
  count(position);
  if (frames_.size() >= kMaxDepth) {
    fail_at(name(), position,
            fmt::format("expected at most {} levels of nesting, found more", kMaxDepth));
  }
  if (!frames_.empty() && frames_.back().node.kind == Node::Kind::kMapping &&
      !frames_.back().has_key) {
    fail_at(name(), position, "expected a key, found a mapping or a sequence",
            "keys are plain text");
  }
  Frame frame;
  frame.node.kind = kind;
  frame.node.position = position;
  frames_.push_back(std::move(frame));
}

void TreeBuilder::close() {
  Node node = std::move(frames_.back().node);
  frames_.pop_back();
  resolve_duplicates(node.entries);
  place(std::move(node));
}

void TreeBuilder::count(Position position) {
  if (++node_count_ > kMaxNodes) {
    fail_at(name(), position,
            fmt::format("expected at most {} values in a file, found more", kMaxNodes));
  }
}

void TreeBuilder::place(Node node) {
  if (frames_.empty()) {
    file_.root = std::move(node);
    return;
  }
  Frame& parent = frames_.back();
  if (parent.node.kind == Node::Kind::kSequence) {
    parent.node.items.push_back(std::move(node));
    return;
  }
  parent.node.entries.push_back({std::move(parent.key), parent.key_position, std::move(node)});
  parent.has_key = false;
}

void TreeBuilder::resolve_duplicates(std::vector<Node::Entry>& entries) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return entries[a].key < entries[b].key; });
  std::vector<std::size_t> overridden;
  for (std::size_t place = 1; place < order.size(); ++place) {
    const Node::Entry& first = entries[order[place - 1]];
    const Node::Entry& second = entries[order[place]];
    if (first.key != second.key) continue;
    if (duplicates_ == DuplicateKeys::kRefused) {
      fail_at(name(), second.position,
              fmt::format("{}: expected each key once, found it again (first on line {})",
                          excerpt(second.key), first.position.line));
    }
    file_.warnings.push_back(fmt::format(
        "{}:{}:{}: duplicate key {}: this value counts, the one on line {} does not", name(),
        second.position.line, second.position.column, excerpt(second.key), first.position.line));
    overridden.push_back(order[place - 1]);
  }
  if (overridden.empty()) return;
  std::sort(overridden.begin(), overridden.end());
  std::vector<Node::Entry> kept;
  auto next = overridden.begin();
  for (std::size_t place = 0; place < entries.size(); ++place) {
    if (next != overridden.end() && *next == place) {
      ++next;
    } else {
      kept.push_back(std::move(entries[place]));
    }
  }
  entries = std::move(kept);
}

}  // namespace ppplan
