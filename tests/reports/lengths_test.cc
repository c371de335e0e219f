#include "reports/documents/lengths.h"

#include "tests/support/errors.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace {

using ppplan::read_lengths;
using ppplan::test::hint_of;
using ppplan::test::message_of;

using Lengths = std::vector<std::int64_t>;

std::string refusal(const std::string& text, const std::optional<std::string>& column = {}) {
  return message_of([&] { (void)read_lengths(text, "f", column); });
}

TEST_CASE("lengths: one number a line, whatever ends the lines") {
  CHECK(read_lengths("12\n7\n", "f") == Lengths{12, 7});
  CHECK(read_lengths("\xEF\xBB\xBF 12 \r\n\r\n7\r9", "f") == Lengths{12, 7, 9});
}

TEST_CASE("lengths: a column of a table by its name") {
  const std::string table = "id,\"num, \"\"tokens\"\"\",x\r\na,12,1\r\n\"b\nc\",7,2\r\n";
  CHECK(read_lengths(table, "f", "num, \"tokens\"") == Lengths{12, 7});
  CHECK(read_lengths("tokens\n5\n", "f", "tokens") == Lengths{5});
}

TEST_CASE("lengths: what is wrong is told with its place") {
  CHECK(refusal("12\nx\n") ==
        "f:2:1: length: expected a whole number of tokens from 1 to 1000000000, found 'x'");
  CHECK(refusal("12\n0\n").find("f:2:1: length: ") == 0);
  CHECK(refusal("-3").find("f:1:1: length: ") == 0);
  CHECK(refusal("1000000001").find("f:1:1: length: ") == 0);
  CHECK(refusal("1.5").find("f:1:1: length: ") == 0);
  CHECK(refusal("12,7\n") == "f:1:4: expected one number a line, found several columns");
  CHECK(refusal("") == "f: expected lengths, found none");
  CHECK(refusal("a,b\n1,2\n3\n", "b") == "f:3:1: b: expected in column 2, found 1 columns");
  CHECK(refusal("a,b\n1,\n", "b").find("f:2:3: b: expected a whole number") == 0);
  CHECK(refusal("a,b\n1,\"2\n", "b") ==
        "f:2:3: expected closing quotes, found the end of the file");
  CHECK(refusal("a,b\n\"1\"x,2\n", "b") ==
        "f:2:4: expected a comma or the line's end after quotes, found 'x'");
}

TEST_CASE("lengths: hints lead to the column that was meant") {
  CHECK(hint_of([] { (void)read_lengths("tokens\n5\n", "f"); }) ==
        "a table's column is chosen by its name: --lengths-column NAME");
  CHECK(refusal("id,tokens\n1,2\n", "token") ==
        "f:1:1: expected a column 'token', found id, tokens");
  CHECK(hint_of([] { (void)read_lengths("id,tokens\n1,2\n", "f", "token"); }) ==
        "did you mean 'tokens'?");
}

TEST_CASE("lengths: columns are bounded") {
  CHECK(refusal(std::string(20'000, ','), "a").find("expected at most 10000 columns") !=
        std::string::npos);
}

}  // namespace
