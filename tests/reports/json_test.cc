#include "reports/documents/node.h"
#include "tests/support/errors.h"

#include <doctest/doctest.h>

#include <string>

namespace {

using ppplan::Fields;
using ppplan::Node;
using ppplan::parse_json;
using ppplan::Position;
using ppplan::test::message_of;

std::string refusal(const std::string& text) {
  return message_of([&] { parse_json(text, "f"); });
}

TEST_CASE("json: values know their place and keep their text") {
  const auto file = parse_json("{\n  \"a\": 1e300, \"b\" : [true, null,\n\"x\\n\\u00e9\"]\n}", "f");
  REQUIRE(file.root.entries.size() == 2);
  CHECK(file.root.position == Position{1, 1});
  CHECK(file.root.entries[0].position == Position{2, 3});
  CHECK(file.root.entries[0].value.scalar == "1e300");
  CHECK(file.root.entries[0].value.position == Position{2, 8});
  const Node& list = file.root.entries[1].value;
  CHECK(list.position == Position{2, 21});
  CHECK(list.items[0].scalar == "true");
  CHECK_FALSE(list.items[0].quoted);
  CHECK(list.items[1].kind == Node::Kind::kNull);
  CHECK(list.items[2].scalar == "x\n\xC3\xA9");
  CHECK(list.items[2].quoted);
  CHECK(list.items[2].position == Position{3, 1});
}

TEST_CASE("json: Infinity and NaN are read, and refused where a number is asked for") {
  const auto file = parse_json(R"({"a": [Infinity, -Infinity, NaN], "b": NaN})", "f");
  CHECK(file.root.entries[0].value.items[1].scalar == "-Infinity");
  const Fields fields(file, file.root);
  CHECK(message_of([&] { (void)fields.number("b"); }) ==
        "f:1:40: b: expected a finite number of at least 0, found NaN");
  CHECK(refusal(R"({"a": Inf})") == "f:1:7: expected a value, found Inf");
}

TEST_CASE("json: of a duplicate key the last counts and a warning says so") {
  const auto file = parse_json("{\"a\": 1, \"b\": 2,\n \"a\": 3, \"a\": 4}", "f");
  REQUIRE(file.root.entries.size() == 2);
  CHECK(file.root.entries[0].key == "b");
  CHECK(file.root.entries[1].value.scalar == "4");
  REQUIRE(file.warnings.size() == 2);
  CHECK(file.warnings[0] ==
        "f:2:2: duplicate key a: this value counts, the one on line 1 does not");
}

TEST_CASE("json: a byte-order mark is accepted") {
  CHECK(parse_json("\xEF\xBB\xBF{}", "f").root.kind == Node::Kind::kMapping);
}

TEST_CASE("json: a text cut short is told with its byte offset") {
  for (const char* cut : {"{", "{\"a", "{\"a\"", "{\"a\":", "{\"a\": 1", "{\"a\": 1,", "[tru", "[-",
                          "[1.", "[\"\\u12"}) {
    CAPTURE(cut);
    CHECK(refusal(cut).find("found the end of the file after byte " +
                            std::to_string(std::string(cut).size())) != std::string::npos);
  }
  CHECK(refusal("{\n\"a\": ") ==
        "f:2:6: expected more JSON, found the end of the file after byte 7");
}

TEST_CASE("json: what is not JSON is refused with its place") {
  CHECK(refusal("") == "f:1:1: expected JSON, found an empty file");
  CHECK(refusal(" \n\t") == "f:1:1: expected JSON, found an empty file");
  CHECK(refusal("{\n\"a\": 1,\n}") == "f:2:7: expected a value after the comma, found none");
  CHECK(refusal("[1, ]") == "f:1:3: expected a value after the comma, found none");
  CHECK(refusal("{a: 1}").find("f:1:2: not well-formed JSON") == 0);
  CHECK(refusal("{} {}").find("f:1:4: not well-formed JSON") == 0);
  CHECK(refusal("{'a': 1}").find("f:1:2:") == 0);
  CHECK(refusal("[01]").find("f:1:3:") == 0);
  CHECK(refusal("[1] // no").find("f:1:5:") == 0);
  CHECK(refusal("[\"\\ud800\"]").find("f:1:") == 0);
  CHECK(refusal("[\"\xFF\"]") == "f:1:3: expected UTF-8 text, found the byte 0xff");
  CHECK(refusal(std::string("[1]\0", 4)).find("control character 0x00") != std::string::npos);
}

TEST_CASE("json: deep nesting ends in an error") {
  CHECK(refusal(std::string(1'000'000, '[')).find("levels of nesting") != std::string::npos);
  std::string objects;
  for (int depth = 0; depth < 1000; ++depth) objects += "{\"a\":";
  CHECK(refusal(objects).find("levels of nesting") != std::string::npos);
}

TEST_CASE("json: too many values end in an error") {
  std::string list = "[";
  for (int item = 0; item < 4'000'001; ++item) list += "1,";
  CHECK(refusal(list).find("expected at most 4000000 values") != std::string::npos);
}

}  // namespace
