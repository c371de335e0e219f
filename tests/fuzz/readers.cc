#include "tests/fuzz/readers.h"

#include "reports/documents/device_sheet.h"
#include "reports/documents/error.h"
#include "reports/documents/job.h"
#include "reports/documents/lengths.h"
#include "reports/documents/mapping.h"
#include "reports/documents/node.h"
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"
#include "reports/documents/run_report.h"
#include "reports/documents/wishes.h"
#include "tests/support/temporary_folder.h"

#include <fstream>

namespace ppplan::test {
namespace {

/// A tree as flow YAML.
std::string to_yaml(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kScalar:
      return MappingWriter::yaml(node.scalar);
    case Node::Kind::kSequence:
      for (const Node& item : node.items) text += to_yaml(item) + ", ";
      return "[" + text + "]";
    case Node::Kind::kMapping:
      for (const Node::Entry& entry : node.entries) {
        text += MappingWriter::yaml(entry.key) + ": " + to_yaml(entry.value) + ", ";
      }
      return "{" + text + "}";
  }
  return text;
}

/// Asks a mapping's keys for every type; each refusal is an Error like any other.
void ask_everything(const ParsedFile& file) {
  if (file.root.kind != Node::Kind::kMapping) return;
  const Fields fields(file, file.root);
  for (const std::string& key : fields.keys()) {
    for (const auto& ask : std::vector<std::function<void()>>{
             [&] { (void)fields.text(key); }, [&] { (void)fields.integer(key); },
             [&] { (void)fields.number(key); }, [&] { (void)fields.boolean(key); },
             [&] { (void)fields.maps(key); },
             [&] {
               (void)fields.word(key, {"a", "b"});
             }}) {
      try {
        ask();
      } catch (const Error&) {
      }
    }
  }
  fields.done();
}

/// One number a line; of a table, its column "tokens".
std::string rewrite_lengths(const std::string& text) {
  const bool table = text.find(',') != std::string::npos;
  std::string lines;
  for (const std::int64_t length :
       read_lengths(text, "f", table ? std::optional<std::string>("tokens") : std::nullopt)) {
    lines += std::to_string(length) + '\n';
  }
  return lines;
}

template <typename Load, typename Write>
std::function<std::string(const std::string&)> through_file(const Load& load, const Write& write) {
  return [load, write](const std::string& text) {
    const TemporaryFolder folder;
    std::ofstream(folder / "document", std::ios::binary) << text;
    return write(load(folder / "document"));
  };
}

std::vector<Reader> all_readers() {
  return {
      {"yaml",
       [](const std::string& text) {
         const ParsedFile file = parse_yaml(text, "f");
         ask_everything(file);
         return to_yaml(file.root);
       }},
      {"json",
       [](const std::string& text) {
         const ParsedFile file = parse_json(text, "f");
         ask_everything(file);
         return to_yaml(file.root);
       }},
      {"profile", [](const std::string& text) { return write_profile(read_profile(text, "f")); }},
      {"device_sheet",
       [](const std::string& text) { return write_device_sheet(read_device_sheet(text, "f")); }},
      {"plan", [](const std::string& text) { return write_plan(read_plan(text, "f")); }},
      {"run_report",
       [](const std::string& text) { return write_run_report(read_run_report(text, "f")); }},
      {"rank_report", through_file(load_rank_report, write_rank_report)},
      {"run_job", through_file(load_run_job, write_run_job)},
      {"profile_job", through_file(load_profile_job, write_profile_job)},
      {"reference_report", through_file(load_reference_report, write_reference_report)},
      {"lengths", rewrite_lengths},
      {"wishes", [](const std::string& text) { return write_wishes(read_wishes(text, "f")); }},
      {"rank_failure", through_file(load_rank_failure, write_rank_failure)},
  };
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> kReaders = all_readers();
  return kReaders;
}

}  // namespace ppplan::test
