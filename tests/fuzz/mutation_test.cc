// Valid documents, damaged at random but the same way each time: only Error may escape, and what is
// still read comes back from what is written.
#include "reports/documents/error.h"
#include "tests/fuzz/readers.h"
#include "tests/support/random_documents.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using ppplan::test::RandomDocuments;

constexpr int kDocuments = 4;
constexpr int kMutants = 75;  ///< of each document

std::string json() {
  return R"({"model_type": "llama", "hidden_size": 576, "rope": {"theta": 1e4, "t": null}, "x": [1, -2.5e-3, true, "\u00e9\n"], "y": {}})";
}

/// Documents of a reader, by its name.
std::string draw(const std::string& reader, std::uint64_t seed) {
  RandomDocuments documents(seed);
  const std::map<std::string, std::function<std::string()>> writers = {
      {"yaml", [&] { return write_plan(documents.plan()); }},
      {"json", json},
      {"profile", [&] { return write_profile(documents.profile()); }},
      {"device_sheet", [&] { return write_device_sheet(documents.device_sheet()); }},
      {"plan", [&] { return write_plan(documents.plan()); }},
      {"run_report", [&] { return write_run_report(documents.run_report()); }},
      {"rank_report", [&] { return write_rank_report(documents.rank_report()); }},
      {"run_job", [&] { return write_run_job(documents.run_job()); }},
      {"profile_job", [&] { return write_profile_job(documents.profile_job()); }},
      {"reference_report", [&] { return write_reference_report(documents.reference_report()); }},
      {"lengths",
       [&] {
         return "name,tokens\n\"a \"\"b\",12\nc," + std::to_string(seed + 1) + "\r\n\nd,7\n";
       }},
      {"wishes",
       [&] {
         return "device_map: {model.layers.0: 0, \"4-7\": 1}\nmicro_batch_size: " +
                std::to_string(seed + 1) +
                "\nmemory_per_device: 64GiB\nschedule: [1f1b, gpipe]\n"
                "activation_checkpointing: true\nbatching: auto\n";
       }},
      {"rank_failure", [&] { return write_rank_failure(documents.rank_failure()); }}};
  return writers.at(reader)();
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : engine_(seed) {}

  std::string operator()(std::string text) {
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) change(text);
    return text;
  }

 private:
  std::size_t below(std::size_t bound) {
    return bound == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, bound - 1)(engine_);
  }
  void change(std::string& text) {
    static constexpr std::array kPieces = {
        "[",     "{",    "}",    "]",    "- ",           "? ",    ": ",
        "\n",    "\t",   "\"",   "'",    "&a ",          "*a",    "!t ",
        "---\n", "|\n",  "# ",   "0",    "-1",           "1e999", "99999999999999999999",
        ".nan",  "null", "\xFF", "\x04", "\xEF\xBB\xBF", "%Y",    ","};
    const std::size_t place = below(text.size() + 1);
    const std::size_t length = std::min(below(20), text.size() - place);
    switch (below(6)) {
      case 0:  // flip a bit
        if (place < text.size()) text[place] = static_cast<char>(text[place] ^ (1 << below(8)));
        return;
      case 1:
        text.erase(place, length);
        return;
      case 2:
        text.insert(place, kPieces[below(kPieces.size())]);
        return;
      case 3:  // repeat a piece elsewhere
        text.insert(below(text.size() + 1), text.substr(place, length));
        return;
      case 4:  // a word in place of another
        text.replace(place, length, kPieces[below(kPieces.size())]);
        return;
      default:  // cut off, sometimes
        if (below(4) == 0) text.resize(place);
    }
  }

  std::mt19937_64 engine_;
};

TEST_CASE("fuzz: damaged documents are read or refused, never worse") {
  for (const auto& reader : ppplan::test::readers()) {
    Mutator mutate(1);
    int read_count = 0;
    for (int document = 0; document < kDocuments; ++document) {
      const std::string text = draw(reader.name, static_cast<std::uint64_t>(document));
      for (int mutant = 0; mutant < kMutants; ++mutant) {
        const std::string damaged = mutate(text);
        CAPTURE(reader.name);
        CAPTURE(damaged);
        std::string written;
        try {
          written = reader.rewrite(damaged);
        } catch (const ppplan::Error& error) {
          CHECK(error.failure() == ppplan::Failure::kBadInput);
          CHECK(std::string(error.what()).size() < 2000);
          continue;
        }
        ++read_count;
        if (reader.name != "json") CHECK(reader.rewrite(written) == written);
      }
    }
    CHECK(read_count > 0);
  }
}

}  // namespace
