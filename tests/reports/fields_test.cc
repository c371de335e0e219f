#include "reports/documents/node.h"
#include "tests/support/errors.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace {

using ppplan::Fields;
using ppplan::nearest_word;
using ppplan::parse_yaml;
using ppplan::ParsedFile;
using ppplan::test::hint_of;
using ppplan::test::message_of;

TEST_CASE("fields: values are read as the type asked for") {
  const ParsedFile file = parse_yaml(
      "name: block\nlayers: 30\nfloat: 32.0\nbig: 9223372036854775807\nrate: 1.5e-3\nok: true\n"
      "sizes: [1, 2, 3]\nnested: {a: 1}\nrows:\n  - {b: 2}\n  - {b: 3}\nempty: ~\nlosses: [.nan, "
      "-.inf, 2]\n",
      "f");
  const Fields fields(file, file.root);
  CHECK(fields.text("name") == "block");
  CHECK(fields.count("layers") == 30);
  CHECK(fields.integer("float") == 32);
  CHECK(fields.integer("big") == std::numeric_limits<std::int64_t>::max());
  CHECK(fields.number("rate") == 1.5e-3);
  CHECK(fields.boolean("ok"));
  CHECK(fields.integers("sizes") == std::vector<std::int64_t>{1, 2, 3});
  CHECK(fields.map("nested").integer("a") == 1);
  CHECK(fields.maps("rows")[1].integer("b") == 3);
  CHECK(fields.mentions("empty"));
  CHECK_FALSE(fields.has("empty"));
  CHECK_FALSE(fields.mentions("absent"));
  CHECK(fields.any_numbers("losses")[1] == -std::numeric_limits<double>::infinity());
  fields.done();
}

TEST_CASE("fields: a key that is missing where the text ends in the middle of a line says so") {
  const auto hint = [](const std::string& text) {
    const ParsedFile file = parse_yaml(text, "f");
    return hint_of([&] { (void)Fields(file, file.root).text("tool_version"); });
  };
  CHECK(hint("schema: x\n") == "add tool_version: ...");
  CHECK(hint("schema: x") ==
        "the file ends in the middle of a line: was it cut short? else add tool_version: ...");
}

TEST_CASE("fields: complaints name file, line, column and the whole key") {
  const ParsedFile file = parse_yaml(
      "model:\n  hidden: \"576\"\n  rows:\n    - {n: 1.5}\n    - {n: -1, on: yes, k: [1, x]}\n  "
      "huge: 99999999999999999999\n"
      "  over: 1e999\n  inf: .inf\n  text: 12\n",
      "f.yaml");
  const Fields model = Fields(file, file.root).map("model");
  const auto rows = model.maps("rows");
  CHECK(message_of([&] { (void)model.integer("hidden"); }) ==
        "f.yaml:2:11: model.hidden: expected a whole number of at least 0, found the text \"576\"");
  CHECK(hint_of([&] { (void)model.integer("hidden"); }) == "remove the quotes");
  CHECK(message_of([&] { (void)rows[0].integer("n"); }) ==
        "f.yaml:4:11: model.rows[0].n: expected a whole number of at least 0, found 1.5");
  CHECK(message_of([&] {
          (void)rows[1].count("n", {1, 8});
        }) == "f.yaml:5:11: model.rows[1].n: expected a whole number from 1 to 8, found -1");
  CHECK(message_of([&] { (void)rows[1].boolean("on"); }) ==
        "f.yaml:5:19: model.rows[1].on: expected true or false, found yes");
  CHECK(message_of([&] { (void)rows[1].integers("k"); }) ==
        "f.yaml:5:31: model.rows[1].k[1]: expected a whole number of at least 0, found x");
  CHECK(message_of([&] { (void)model.integer("huge"); }).find("found 99999999999999999999") !=
        std::string::npos);
  CHECK(message_of([&] { (void)model.number("over"); }).find("found 1e999") != std::string::npos);
  CHECK(message_of([&] { (void)model.number("inf"); }).find("expected a finite number") !=
        std::string::npos);
  CHECK(message_of([&] { (void)model.text("text"); }) ==
        "f.yaml:9:9: model.text: expected text, found 12");
  CHECK(hint_of([&] { (void)model.text("text"); }) == "write it in quotes: \"12\"");
  CHECK(message_of([&] { (void)model.map("rows"); }) ==
        "f.yaml:4:5: model.rows: expected a mapping (key: value), found a list");
  CHECK(message_of([&] { (void)model.integer("absent"); }) ==
        "f.yaml:2:3: model.absent: expected this key, found none");
}

TEST_CASE("fields: unknown keys and words get the nearest known one as a hint") {
  const ParsedFile file = parse_yaml("hiden: 1\nschedule: 1f1bb\n", "f");
  const Fields fields(file, file.root);
  CHECK(hint_of([&] { (void)fields.integer("hidden"); }) == "there is hiden; is hidden meant?");
  CHECK(message_of([&] { fields.done(); }) ==
        "f:1:1: hiden: expected a known key, found an unknown one");
  CHECK(hint_of([&] { fields.done(); }) == "did you mean hidden?");
  CHECK(message_of([&] {
          (void)fields.word("schedule", {"gpipe", "1f1b"});
        }) == "f:2:11: schedule: expected one of gpipe, 1f1b, found 1f1bb");
  CHECK(hint_of([&] { (void)fields.word("schedule", {"gpipe", "1f1b"}); }) == "did you mean 1f1b?");
}

TEST_CASE("fields: long values are cut and control characters shown in messages") {
  const ParsedFile file = parse_yaml("a: \"\\x1b[31m" + std::string(100, 'z') + "\"\n", "f");
  const std::string message = message_of([&] { (void)Fields(file, file.root).integer("a"); });
  CHECK(message.find("\\x1b[31m") != std::string::npos);
  CHECK(message.size() < 140);
  CHECK(message.find("zzz...") != std::string::npos);
}

TEST_CASE("fields: a swap or a slip is near, another word is not") {
  CHECK(nearest_word("forwrad_s", {"backward_s", "forward_s"}) == "forward_s");
  CHECK(nearest_word("gpip", {"gpipe", "1f1b"}) == "gpipe");
  CHECK_FALSE(nearest_word("banana", {"gpipe", "1f1b"}));
  CHECK_FALSE(nearest_word("", {"a"}));
  CHECK_FALSE(nearest_word(std::string(100'000, 'a'), {"a"}));
}

}  // namespace
