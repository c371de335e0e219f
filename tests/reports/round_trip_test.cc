#include "reports/documents/mapping.h"
#include "tests/support/errors.h"
#include "tests/support/random_documents.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

namespace {

using ppplan::Fields;
using ppplan::MappingWriter;
using ppplan::parse_yaml;
using ppplan::test::RandomDocuments;

constexpr std::uint64_t kSeeds = 100;

/// What a document gives when written, read and written again.
template <typename T, typename Write, typename Read>
void check_round_trip(const T& document, const Write& write, const Read& read) {
  const std::string text = write(document);
  CAPTURE(text);
  const T again = read(text);
  CHECK(again == document);
  CHECK(write(again) == text);
}

/// Reads by way of a file, for documents that are only loaded.
template <typename Load>
auto from_file(const Load& load) {
  return [&load](const std::string& text) {
    const ppplan::test::TemporaryFolder folder;
    std::ofstream(folder / "document", std::ios::binary) << text;
    return load(folder / "document");
  };
}

TEST_CASE("round trip: random models, profiles and plans come back unchanged") {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    RandomDocuments draw(seed);
    check_round_trip(draw.profile(), ppplan::write_profile,
                     [](const std::string& text) { return ppplan::read_profile(text, "f"); });
    check_round_trip(draw.plan(), ppplan::write_plan,
                     [](const std::string& text) { return ppplan::read_plan(text, "f"); });
    check_round_trip(draw.model(), ppplan::write_model_file,
                     [](const std::string& text) { return ppplan::read_model_file(text, "f"); });
    check_round_trip(
        draw.model(),
        [](const ppplan::Model& model) { return "model:\n" + ppplan::write_model(model, 2); },
        [](const std::string& text) {
          const auto file = parse_yaml(text, "f");
          return ppplan::read_model(Fields(file, file.root).map("model"));
        });
  }
}

TEST_CASE("round trip: random jobs and reports come back unchanged") {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    RandomDocuments draw(seed);
    check_round_trip(draw.run_report(), ppplan::write_run_report,
                     [](const std::string& text) { return ppplan::read_run_report(text, "f"); });
    check_round_trip(draw.rank_report(), ppplan::write_rank_report,
                     from_file(ppplan::load_rank_report));
    check_round_trip(draw.run_job(), ppplan::write_run_job, from_file(ppplan::load_run_job));
    check_round_trip(draw.profile_job(), ppplan::write_profile_job,
                     from_file(ppplan::load_profile_job));
    check_round_trip(draw.reference_report(), ppplan::write_reference_report,
                     from_file(ppplan::load_reference_report));
    check_round_trip(draw.rank_failure(), ppplan::write_rank_failure,
                     from_file(ppplan::load_rank_failure));
  }
}

TEST_CASE("round trip: every text and every double comes back") {
  RandomDocuments draw(1);
  for (int round = 0; round < 5000; ++round) {
    const std::string text = draw.text();
    const double number = std::ldexp(draw.number(), static_cast<int>(draw.integer(-900, 900)));
    const std::string yaml = "a: " + MappingWriter::yaml(text) +
                             "\nb: {c: " + MappingWriter::yaml(text) +
                             ", d: " + MappingWriter::yaml(number) + "}\n";
    CAPTURE(yaml);
    const auto file = parse_yaml(yaml, "f");
    const Fields fields(file, file.root);
    CHECK(fields.text("a") == text);
    CHECK(fields.map("b").text("c") == text);
    CHECK(fields.map("b").any_number("d") == number);
  }
}

TEST_CASE("round trip: losses that are no numbers come back") {
  ppplan::RunReport report = RandomDocuments(1).run_report();
  report.losses = {1.0, std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::quiet_NaN()};
  const auto again = ppplan::read_run_report(ppplan::write_run_report(report), "f");
  CHECK(std::isinf(again.losses[1]));
  CHECK(std::isnan(again.losses[2]));
}

TEST_CASE("writing: a text that is no UTF-8 is refused") {
  CHECK(ppplan::test::message_of([] { MappingWriter::yaml(std::string("a\xFF")); }) ==
        "expected UTF-8 text, found \"a\\xff\"");
}

TEST_CASE("writing: numbers stay numbers for other YAML readers") {
  CHECK(MappingWriter::yaml(1e-5) == "1.0e-05");
  CHECK(MappingWriter::yaml(0.1) == "0.1");
  CHECK(MappingWriter::yaml(std::string("2.11.0")) == "\"2.11.0\"");
  CHECK(MappingWriter::yaml(std::string("No")) == "\"No\"");
  CHECK(MappingWriter::yaml(std::string("self_attn.q_proj.weight")) == "self_attn.q_proj.weight");
}

}  // namespace
