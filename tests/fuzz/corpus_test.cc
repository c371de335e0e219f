// Files that once broke a reader, or were written to: each is read, or refused with an Error.
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "tests/fuzz/readers.h"

#include <doctest/doctest.h>

#include <filesystem>

namespace {

TEST_CASE("fuzz: every file of the corpus is read or refused") {
  const std::filesystem::path corpus = std::filesystem::path(PPPLAN_TEST_ROOT) / "fuzz" / "corpus";
  for (const auto& reader : ppplan::test::readers()) {
    REQUIRE(std::filesystem::is_directory(corpus / reader.name));
    for (const auto& entry : std::filesystem::directory_iterator(corpus / reader.name)) {
      CAPTURE(entry.path().string());
      try {
        (void)reader.rewrite(ppplan::read_file(entry.path()));
      } catch (const ppplan::Error& error) {
        CHECK(error.failure() == ppplan::Failure::kBadInput);
      }
    }
  }
}

TEST_CASE("fuzz: a file of another reader is refused as well") {
  const std::filesystem::path corpus =
      std::filesystem::path(PPPLAN_TEST_ROOT) / "fuzz" / "corpus" / "yaml";
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const std::string text = ppplan::read_file(entry.path());
    for (const auto& reader : ppplan::test::readers()) {
      if (reader.name == "yaml" || reader.name == "json") continue;
      CAPTURE(reader.name);
      CAPTURE(entry.path().string());
      CHECK_THROWS_AS(reader.rewrite(text), ppplan::Error);
    }
  }
}

}  // namespace
