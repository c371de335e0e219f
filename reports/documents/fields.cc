// Fields: typed, checked access to a mapping.
#include "reports/documents/error.h"
#include "reports/documents/excerpt.h"
#include "reports/documents/node.h"
#include "reports/documents/scalar.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace ppplan {
namespace {

/// Time and size limits keep sums over a plan's layers and micro-batches within range.
constexpr double kMostSeconds = 1e12;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;

const Node::Entry* find(const Node& mapping, std::string_view key) {
  const auto entry = std::find_if(mapping.entries.begin(), mapping.entries.end(),
                                  [&](const Node::Entry& e) { return e.key == key; });
  return entry == mapping.entries.end() ? nullptr : &*entry;
}

std::string joined(const std::string& path, std::string_view key) {
  if (path.empty()) return excerpt(key);
  return key.empty() ? path : fmt::format("{}.{}", path, excerpt(key));
}

/// A value that cannot be read as asked: who says so, and what was expected.
struct Complaint {
  std::string expected;
  std::string hint;
};

/// Where a value stands, for messages.
struct Place {
  const ParsedFile& file;
  std::string path;

  [[noreturn]] void refuse(const Node& node, const Complaint& complaint) const {
    std::string hint = complaint.hint;
    throw Error(Failure::kBadInput,
                fmt::format("{}:{}:{}: {}: expected {}, found {}", file.name, node.position.line,
                            node.position.column, path, complaint.expected, describe(node)),
                std::move(hint));
  }
};

std::string as_text(const Node& node, const Place& place) {
  if (node.kind == Node::Kind::kScalar && (node.quoted || !has_other_type(node.scalar)))
    return node.scalar;
  const bool scalar = node.kind == Node::Kind::kScalar;
  place.refuse(
      node,
      {"text", scalar ? fmt::format("write it in quotes: \"{}\"", excerpt(node.scalar)) : ""});
}

std::string unquote_hint(const Node& node) {
  return node.kind == Node::Kind::kScalar && node.quoted && has_other_type(node.scalar)
             ? "remove the quotes"
             : "";
}

std::int64_t as_integer(const Node& node, const Place& place, IntegerRange range) {
  const bool plain = node.kind == Node::Kind::kScalar && !node.quoted;
  const std::optional<std::int64_t> value = plain ? to_integer(node.scalar) : std::nullopt;
  if (value && *value >= range.least && *value <= range.most) return *value;
  std::string expected = "a whole number";
  if (range.most < INT64_MAX) {
    expected += fmt::format(" from {} to {}", range.least, range.most);
  } else if (range.least > INT64_MIN) {
    expected += fmt::format(" of at least {}", range.least);
  }
  place.refuse(node, {expected, unquote_hint(node)});
}

double as_number(const Node& node, const Place& place, NumberRange range) {
  const bool plain = node.kind == Node::Kind::kScalar && !node.quoted;
  const std::optional<double> value = plain ? to_number(node.scalar) : std::nullopt;
  if (value && *value >= range.least && *value <= range.most) return *value;
  std::string expected = "a finite number";
  if (range.most < NumberRange{}.most) {
    expected += fmt::format(" from {} to {}", range.least, range.most);
  } else if (range.least > -range.most) {
    expected += fmt::format(" of at least {}", range.least);
  }
  place.refuse(node, {expected, unquote_hint(node)});
}

double as_any_number(const Node& node, const Place& place) {
  const bool plain = node.kind == Node::Kind::kScalar && !node.quoted;
  if (const auto value = plain ? to_any_number(node.scalar) : std::nullopt) return *value;
  place.refuse(node, {"a number, .inf or .nan", unquote_hint(node)});
}

}  // namespace

Fields::Fields(const ParsedFile& file, const Node& node, std::string path)
    : file_(&file),
      node_(&node),
      path_(std::move(path)),
      asked_(std::make_shared<std::vector<std::string>>()) {
  if (node.kind == Node::Kind::kMapping) return;
  Place{file, path_.empty() ? "document" : path_}.refuse(node, {"a mapping (key: value)", ""});
}

bool Fields::mentions(std::string_view key) const {
  return optional_node(key) != nullptr;
}

bool Fields::has(std::string_view key) const {
  const Node* node = optional_node(key);
  return node != nullptr && node->kind != Node::Kind::kNull;
}

const Node* Fields::optional_node(std::string_view key) const {
  if (std::find(asked_->begin(), asked_->end(), key) == asked_->end()) asked_->emplace_back(key);
  const Node::Entry* entry = find(*node_, key);
  return entry == nullptr ? nullptr : &entry->value;
}

const Node& Fields::node(std::string_view key) const {
  if (const Node* node = optional_node(key)) return *node;
  std::vector<std::string> unasked;
  for (const Node::Entry& entry : node_->entries) {
    if (std::find(asked_->begin(), asked_->end(), entry.key) == asked_->end())
      unasked.push_back(entry.key);
  }
  const auto near = nearest_word(key, unasked);
  const std::string cut =
      file_->ends_mid_line ? "the file ends in the middle of a line: was it cut short? else " : "";
  throw Error(Failure::kBadInput,
              fmt::format("{}:{}:{}: {}: expected this key, found none", file_->name,
                          node_->position.line, node_->position.column, joined(path_, key)),
              near ? fmt::format("there is {}; is {} meant?", excerpt(*near), key)
                   : fmt::format("{}add {}: ...", cut, key));
}

std::string Fields::text(std::string_view key) const {
  return as_text(node(key), {*file_, joined(path_, key)});
}

std::int64_t Fields::integer(std::string_view key, IntegerRange range) const {
  return as_integer(node(key), {*file_, joined(path_, key)}, range);
}

int Fields::count(std::string_view key, IntegerRange range) const {
  range.most = std::min<std::int64_t>(range.most, INT32_MAX);
  range.least = std::max<std::int64_t>(range.least, INT32_MIN);
  return static_cast<int>(integer(key, range));
}

double Fields::number(std::string_view key, NumberRange range) const {
  return as_number(node(key), {*file_, joined(path_, key)}, range);
}

double Fields::any_number(std::string_view key) const {
  return as_any_number(node(key), {*file_, joined(path_, key)});
}

bool Fields::boolean(std::string_view key) const {
  const Node& value = node(key);
  if (value.kind == Node::Kind::kScalar && !value.quoted) {
    if (const auto truth = to_boolean(value.scalar)) return *truth;
  }
  Place{*file_, joined(path_, key)}.refuse(value, {"true or false", unquote_hint(value)});
}

Seconds Fields::seconds(std::string_view key) const {
  return Seconds(number(key, {.least = 0.0, .most = kMostSeconds}));
}

Bytes Fields::bytes(std::string_view key) const {
  return Bytes{integer(key, {.least = 0, .most = kMostBytes})};
}

BytesPerSecond Fields::bytes_per_second(std::string_view key) const {
  return BytesPerSecond{number(key)};
}

std::size_t Fields::word(std::string_view key, const std::vector<std::string>& words) const {
  const Node& value = node(key);
  if (value.kind == Node::Kind::kScalar) {
    const auto match = std::find(words.begin(), words.end(), value.scalar);
    if (match != words.end()) return static_cast<std::size_t>(match - words.begin());
  }
  const auto near = nearest_word(value.scalar, words);
  Place{*file_, joined(path_, key)}.refuse(
      value, {words.size() == 1 ? words.front() : fmt::format("one of {}", fmt::join(words, ", ")),
              near ? fmt::format("did you mean {}?", *near) : ""});
}

Fields Fields::map(std::string_view key) const {
  return {*file_, node(key), joined(path_, key)};
}

template <typename Read>
void Fields::each(std::string_view key, const char* of_what, const Read& read) const {
  const Node& sequence = node(key);
  const std::string path = joined(path_, key);
  if (sequence.kind != Node::Kind::kSequence) {
    Place{*file_, path}.refuse(sequence, {fmt::format("a list of {}", of_what), ""});
  }
  for (std::size_t place = 0; place < sequence.items.size(); ++place) {
    read(sequence.items[place], fmt::format("{}[{}]", path, place));
  }
}

std::vector<Fields> Fields::maps(std::string_view key) const {
  std::vector<Fields> result;
  each(key, "mappings", [&](const Node& item, std::string path) {
    result.emplace_back(*file_, item, std::move(path));
  });
  return result;
}

std::vector<std::string> Fields::texts(std::string_view key) const {
  std::vector<std::string> result;
  each(key, "texts", [&](const Node& item, std::string path) {
    result.push_back(as_text(item, {*file_, std::move(path)}));
  });
  return result;
}

std::vector<std::int64_t> Fields::integers(std::string_view key, IntegerRange range) const {
  std::vector<std::int64_t> result;
  each(key, "whole numbers", [&](const Node& item, std::string path) {
    result.push_back(as_integer(item, {*file_, std::move(path)}, range));
  });
  return result;
}

std::vector<Seconds> Fields::times(std::string_view key) const {
  std::vector<Seconds> result;
  for (const double time : numbers(key, {.least = 0.0, .most = kMostSeconds})) {
    result.emplace_back(time);
  }
  return result;
}

std::vector<Bytes> Fields::sizes(std::string_view key) const {
  std::vector<Bytes> result;
  for (const std::int64_t size : integers(key, {.least = 0, .most = kMostBytes})) {
    result.push_back(Bytes{size});
  }
  return result;
}

std::vector<double> Fields::numbers(std::string_view key, NumberRange range) const {
  std::vector<double> result;
  each(key, "numbers", [&](const Node& item, std::string path) {
    result.push_back(as_number(item, {*file_, std::move(path)}, range));
  });
  return result;
}

std::vector<double> Fields::any_numbers(std::string_view key) const {
  std::vector<double> result;
  each(key, "numbers", [&](const Node& item, std::string path) {
    result.push_back(as_any_number(item, {*file_, std::move(path)}));
  });
  return result;
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> result;
  for (const Node::Entry& entry : node_->entries) result.push_back(entry.key);
  return result;
}

void Fields::done() const {
  for (const Node::Entry& entry : node_->entries) {
    if (std::find(asked_->begin(), asked_->end(), entry.key) != asked_->end()) continue;
    const auto near = nearest_word(entry.key, *asked_);
    throw Error(Failure::kBadInput,
                fmt::format("{}:{}:{}: {}: expected a known key, found an unknown one", file_->name,
                            entry.position.line, entry.position.column, joined(path_, entry.key)),
                near ? fmt::format("did you mean {}?", *near)
                     : fmt::format("known keys: {}", fmt::join(*asked_, ", ")));
  }
}

void Fields::fail(std::string_view key, const std::string& what, std::string hint) const {
  throw Error(Failure::kBadInput, where(key) + what, std::move(hint));
}

std::string Fields::where(std::string_view key) const {
  const Node::Entry* entry = find(*node_, key);
  const Position position = entry == nullptr ? node_->position : entry->value.position;
  const std::string path = joined(path_, key);
  return fmt::format("{}:{}:{}: {}{}", file_->name, position.line, position.column, path,
                     path.empty() ? "" : ": ");
}

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known) {
  constexpr std::size_t kLongestWord = 64;
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  if (word.empty() || word.size() > kLongestWord) return best;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestWord || candidate == word) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

}  // namespace ppplan
