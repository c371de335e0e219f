#include "reports/render/table.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

namespace ppplan::render {
namespace {

TEST_CASE("table: columns align and a rule stands under the titles and above totals") {
  Table table({{"stage", Align::kLeft}, {"time"}}, "Stages");
  table.row({"0", "1.5 ms"}).row({"10"}).rule().row({"sum", "12.5 ms"});
  CHECK(table.text() ==
        "Stages\n"
        "stage     time\n"
        "─────  ───────\n"
        "0       1.5 ms\n"
        "10\n"
        "─────  ───────\n"
        "sum    12.5 ms\n");
}

TEST_CASE("table: only columns that may be shortened are cut to the width asked for") {
  Table table({{"kept", Align::kLeft}, {"cut", Align::kLeft, Fit::kShorten}});
  table.row({"0123456789", "abcdefghijklmnopqrstuvwxyz"});
  CHECK(table.text({.width = 24}).find("0123456789  abcdefghijk…\n") != std::string::npos);
  CHECK(table.text({.width = 1}).find("0123456789  abcdefg…\n") != std::string::npos);
}

TEST_CASE("table: characters of several bytes take one column") {
  CHECK(display_width("0–29 ×30") == 8);
  Table table({{"a"}, {"b", Align::kLeft}});
  table.row({"×", "x"});
  CHECK(table.text() == "a  b\n─  ─\n×  x\n");
}

TEST_CASE("table: control characters in a cell cannot move the cursor") {
  Table table({{"name", Align::kLeft}}, "a\rb");
  table.row({"x\x1b[2Jy\n"});
  CHECK(table.text().find('\x1b') == std::string::npos);
  CHECK(table.text().find("x?[2Jy?\n") != std::string::npos);
  CHECK(table.text().find('\r') == std::string::npos);
}

TEST_CASE("table: colours wrap titles and rules, never cells") {
  Table table({{"a"}});
  table.row({"1"});
  CHECK(table.text({.style = Style::kColored}) == "\x1b[1ma\x1b[0m\n\x1b[2m─\x1b[0m\n1\n");
}

}  // namespace
}  // namespace ppplan::render
