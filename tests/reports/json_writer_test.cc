#include "reports/documents/json_writer.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace ppplan {
namespace {

TEST_CASE("json writer: objects and arrays are indented and keep their order") {
  JsonWriter json;
  json.begin_object().member("name", "gpt2").member("count", std::int64_t{124439808});
  json.key("stages").begin_array();
  json.begin_object().member("rank", 0).member("last", true).end_object();
  json.end_array().key("none").begin_array().end_array();
  json.member("shape", std::vector<int>{2, 3}).end_object();
  CHECK(json.take() == R"({
  "name": "gpt2",
  "count": 124439808,
  "stages": [
    {
      "rank": 0,
      "last": true
    }
  ],
  "none": [],
  "shape": [2, 3]
}
)");
}

TEST_CASE("json writer: numbers read back as they were, and what is no number is null") {
  JsonWriter json;
  json.begin_array().value(0.1).value(1e300).value(Seconds(0.5)).value(Bytes{7});
  json.value(std::numeric_limits<double>::quiet_NaN()).value(std::optional<int>{}).end_array();
  CHECK(json.take() == "[\n  0.1,\n  1e+300,\n  0.5,\n  7,\n  null,\n  null\n]\n");
}

TEST_CASE("json writer: strings are escaped and bytes that are no UTF-8 replaced") {
  JsonWriter json;
  CHECK(json.value("a\"b\\c\n\x01×").take() == "\"a\\\"b\\\\c\\n\\u0001×\"\n");
  CHECK(json.value(std::string("\xff\xc3(\xed\xa0\x80")).take() ==
        "\"\\ufffd\\ufffd(\\ufffd\\ufffd\\ufffd\"\n");
  CHECK(json.value(std::string("cut \xe2\x82")).take() == "\"cut \\ufffd\\ufffd\"\n");
}

}  // namespace
}  // namespace ppplan
