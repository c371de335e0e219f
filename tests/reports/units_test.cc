#include "reports/documents/units.h"

#include <doctest/doctest.h>

namespace {

using ppplan::Bytes;
using ppplan::BytesPerSecond;
using ppplan::human;
using ppplan::human_count;
using ppplan::parse_bytes;
using ppplan::Seconds;

TEST_CASE("units: times show in the unit that fits") {
  CHECK(ppplan::human(Seconds(0)) == "0 s");
  CHECK(ppplan::human(Seconds(1.25e-5)) == "12.5 us");
  CHECK(ppplan::human(Seconds(0.0125)) == "12.5 ms");
  CHECK(ppplan::human(Seconds(0.99996e-3)) == "1.0 ms");
  CHECK(ppplan::human(Seconds(0.99996)) == "1.00 s");
  CHECK(ppplan::human(Seconds(75.0)) == "75.00 s");
  CHECK(ppplan::human(Seconds(-0.0125)) == "-12.5 ms");
}

TEST_CASE("units: sizes and rates show in the unit that fits") {
  CHECK(human(Bytes{0}) == "0 B");
  CHECK(human(Bytes{1023}) == "1023 B");
  CHECK(human(Bytes{1536}) == "1.5 KiB");
  CHECK(human(Bytes{1024 * 1024 - 1}) == "1.0 MiB");
  CHECK(human(Bytes{3LL << 29}) == "1.50 GiB");
  CHECK(human(Bytes{-(3LL << 29)}) == "-1.50 GiB");
  CHECK(human(BytesPerSecond{1.2e9}) == "1.2 GB/s");
}

TEST_CASE("units: counts keep three to four digits") {
  CHECK(human_count(0) == "0");
  CHECK(human_count(576) == "576");
  CHECK(human_count(999) == "999");
  CHECK(human_count(1000) == "1.00 K");
  CHECK(human_count(134515008) == "134.5 M");
  CHECK(human_count(8030261248.0) == "8.03 B");
  CHECK(human_count(999'990'000) == "1.00 B");
}

TEST_CASE("units: sizes are read with binary and decimal prefixes") {
  CHECK(parse_bytes("1048576") == Bytes{1048576});
  CHECK(parse_bytes("8GiB") == Bytes{8LL << 30});
  CHECK(parse_bytes("512 MiB") == Bytes{512LL << 20});
  CHECK(parse_bytes("2GB") == Bytes{2'000'000'000});
  CHECK(parse_bytes("2g") == Bytes{2'000'000'000});
  CHECK(parse_bytes("1.5gib") == Bytes{3LL << 29});
  CHECK(parse_bytes("9223372036854775807") == Bytes{INT64_MAX});
  CHECK(parse_bytes("12 B") == Bytes{12});
}

TEST_CASE("units: what is no size is not read") {
  for (const char* text : {"",
                           " ",
                           "-1",
                           "+1",
                           "GiB",
                           "1.2.3GiB",
                           "1.5",
                           "0.5B",
                           "8 GiB x",
                           "8GiBs",
                           "9223372036854775808",
                           "8EiB",
                           "1e3",
                           "1e3GiB",
                           "nan",
                           "inf",
                           "0x10",
                           ".5GiB",
                           "8 G i B",
                           "8XiB"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_bytes(text));
  }
}

}  // namespace
