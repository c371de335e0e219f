#include "reports/documents/node.h"
#include "tests/support/errors.h"

#include <doctest/doctest.h>

#include <string>

namespace {

using ppplan::Node;
using ppplan::parse_yaml;
using ppplan::Position;
using ppplan::test::hint_of;
using ppplan::test::message_of;

std::string refusal(const std::string& text) {
  return message_of([&] { parse_yaml(text, "f"); });
}

TEST_CASE("yaml: values know their place and whether they were quoted") {
  const auto file = parse_yaml("a: 1\nb:\n  - {c: \"2\", d: ~}\n  - [x y, 'z']\n", "f");
  REQUIRE(file.root.kind == Node::Kind::kMapping);
  REQUIRE(file.root.entries.size() == 2);
  CHECK(file.root.entries[0].key == "a");
  CHECK(file.root.entries[0].value.scalar == "1");
  CHECK_FALSE(file.root.entries[0].value.quoted);
  CHECK(file.root.entries[1].position == Position{2, 1});
  const Node& list = file.root.entries[1].value;
  REQUIRE(list.items.size() == 2);
  CHECK(list.items[0].position == Position{3, 5});
  CHECK(list.items[0].entries[0].value.position == Position{3, 9});
  CHECK(list.items[0].entries[0].value.quoted);
  CHECK(list.items[0].entries[1].value.kind == Node::Kind::kNull);
  CHECK(list.items[1].items[0].scalar == "x y");
}

TEST_CASE("yaml: escapes of quoted text are read") {
  const auto file = parse_yaml(R"(a: "\x04\0\u2028\n\\\"é")", "f");
  CHECK(file.root.entries[0].value.scalar == std::string("\x04\0\xE2\x80\xA8\n\\\"\xC3\xA9", 10));
}

TEST_CASE("yaml: a byte-order mark and Windows line ends are accepted") {
  const auto file = parse_yaml(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 2\r\n",
      "f");
  CHECK(file.root.entries[0].key == "a");
  CHECK(file.root.entries[1].value.scalar == "2");
}

TEST_CASE("yaml: what is no single plain document is refused with its place") {
  CHECK(refusal("") == "f:1:1: expected a document, found an empty file");
  CHECK(refusal("# only a comment\n") == "f:1:1: expected a document, found an empty file");
  CHECK(refusal("a: 1\n---\nb: 2\n") == "f:2:1: expected one document, found another after it");
  CHECK(refusal("a: &x 1\n").find("found an anchor") != std::string::npos);
  CHECK(refusal("a: *x\n") != "");
  CHECK(refusal("a: !int 1\n").find("f:1:4: expected a value, found a tag") == 0);
  CHECK(refusal("a: !!int 1\n").find("found a tag") != std::string::npos);
  CHECK(refusal("a: 1\nb: 2\na: 3\n") ==
        "f:3:1: a: expected each key once, found it again (first on line 1)");
  CHECK(refusal("? [a]\n: 1\n").find("expected a key, found a mapping or a sequence") !=
        std::string::npos);
  CHECK(refusal("~: 1\n").find("expected a key, found null") != std::string::npos);
  CHECK(refusal(",\n").find("f:") == 0);
}

TEST_CASE("yaml: a text that ends within brackets or quotes was cut short") {
  const auto cut = [](const std::string& place, char opened) {
    return "f:" + place + ": not well-formed YAML: the text ends in the middle of what " + opened +
           " opens here";
  };
  CHECK(refusal("a: [1, 2\n") == cut("1:4", '['));
  CHECK(refusal("a:\n  - {b: 1, c: [x, y], d") == cut("2:5", '{'));
  CHECK(refusal("a:\n  - {b: 1, c: [x, y") == cut("2:15", '['));
  CHECK(refusal("a: {b: 1}\nc: {d: \"x y") == cut("2:8", '"'));
  CHECK(refusal("a: it's [fine # {\nb: 'it''s'\nc: {d: 1") == cut("3:4", '{'));
  CHECK(hint_of([] { parse_yaml("a: {b", "f"); }).find("cut short") != std::string::npos);
}

TEST_CASE("yaml: a text that is refused for something else is not called cut short") {
  CHECK(refusal("a: 'it''s {'\nb: \"\\\"[\"\nc: x [y\n~: 1\n").find("expected a key, found null") !=
        std::string::npos);
}

TEST_CASE("yaml: a tab that indents is named in the hint") {
  CHECK(hint_of([] { parse_yaml("a: 1\n\tb: 1\n", "f"); }).find("tab") != std::string::npos);
  CHECK(refusal("a: 1\n\tb: 1\n").find("f:2:1: not well-formed YAML") == 0);
}

TEST_CASE("yaml: bytes that are no text are refused with their place") {
  CHECK(refusal("a: 1\nb: \xFF\n") == "f:2:4: expected UTF-8 text, found the byte 0xff");
  CHECK(refusal("a: \xED\xA0\x80") == "f:1:4: expected UTF-8 text, found the byte 0xed");
  CHECK(refusal("a: \xC0\x80") == "f:1:4: expected UTF-8 text, found the byte 0xc0");
  CHECK(refusal(std::string("a: \0", 4)) ==
        "f:1:4: expected text, found the control character 0x00");
  CHECK(refusal("a: \x04\n") == "f:1:4: expected text, found the control character 0x04");
}

TEST_CASE("yaml: deep nesting ends in an error") {
  CHECK(refusal(std::string(100'000, '[')).find("f:1:") == 0);
  CHECK(refusal(std::string(100'000, '{')).find("f:1:") == 0);
  std::string dashes;
  for (int depth = 0; depth < 1000; ++depth) dashes += "- ";
  CHECK(refusal(dashes).find("levels of nesting") != std::string::npos);
  const std::string legal = std::string(64, '[') + std::string(64, ']');
  CHECK(parse_yaml(legal, "f").root.kind == Node::Kind::kSequence);
}

TEST_CASE("yaml: more tokens than memory should hold end in an error") {
  CHECK(refusal(std::string(5'000'000, ',')).find("punctuation characters") != std::string::npos);
}

}  // namespace
