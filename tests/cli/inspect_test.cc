#include "reports/documents/model.h"
#include "reports/documents/node.h"
#include "tests/cli/program.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ppplan::cli {
namespace {

const std::string kConfigs =
    (std::filesystem::path(PPPLAN_TEST_ROOT).parent_path() / "profiler/models/configs").string();

/// A file of this content that goes away with it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() /
              ("ppplan_inspect_test_" + std::to_string(::getpid()) + ".json")) {
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST_CASE("inspect: shows layers in order, equal ones folded, and the totals") {
  const ProgramResult result = run_program({"inspect", kConfigs + "/smollm2-135m"});
  CHECK(result.exit_code == 0);
  CHECK(result.errors.empty());
  CHECK(result.output ==
        R"(smollm2-135m: llama, hidden 576, vocabulary 49152, 8192 positions
layers    kind       shape                 params   FLOPs  weights/grads/AdamW  activations
────────  ─────────  ───────────────────  ───────  ──────  ───────────────────  ───────────
0         embedding  49152×576             28.3 M       0      108/108/216 MiB          8 B
1–30 ×30  block      9×64, kv 3, ff 1536   3.54 M  28.3 M     13.5/13.5/27 MiB     33.0 KiB
31        head       576×49152, tied          576   170 M    2.25/2.25/4.5 KiB    196.5 KiB
────────  ─────────  ───────────────────  ───────  ──────  ───────────────────  ───────────
total                                     134.5 M  1.02 G    0.501/0.501/1 GiB      1.2 MiB

134515008 unique parameters.
A row is one layer, also where it stands for several. Blocks: heads × head size, key/value heads,
feed-forward. Forward and backward FLOPs and kept activations are a token's at sequence 2048;
float32, AdamW, nothing recomputed.
lm_head.weight is model.embed_tokens.weight, counted once; stages apart each hold a copy.
)");
}

TEST_CASE("inspect: JSON holds the same counts") {
  const ProgramResult result =
      run_program({"inspect", kConfigs + "/smollm2-135m", "--json", "--layers", "2"});
  REQUIRE(result.exit_code == 0);
  const ParsedFile json = parse_json(result.output, "output");
  const Fields fields(json, json.root);
  CHECK(fields.text("name") == "smollm2-135m");
  CHECK(fields.maps("layers").size() == 4);
  CHECK(fields.map("total").integer("parameter_count") == 28'311'552 + 2 * 3'540'096 + 576);
  CHECK(fields.maps("kinds").at(1).maps("parameters").size() == 9);
}

TEST_CASE("inspect: the model document holds the layers' programs") {
  const ProgramResult result =
      run_program({"inspect", kConfigs + "/smollm2-135m", "--document", "--layers", "2"});
  REQUIRE(result.exit_code == 0);
  const Model model = read_model_file(result.output, "output");
  CHECK(model.layers.size() == 4);
  CHECK(parameter_count(model) == 28'311'552 + 2 * 3'540'096 + 576);
}

TEST_CASE("inspect: warnings go to standard error") {
  const TemporaryFile file(R"({"model_type": "llama"})");
  const ProgramResult result = run_program({"inspect", file.path()});
  CHECK(result.exit_code == 0);
  CHECK(result.errors.find("warning: ") == 0);
  CHECK(result.errors.find("num_key_value_heads") != std::string::npos);
}

TEST_CASE("inspect: bad input exits 2 with one error, a hint, and nothing on standard output") {
  const auto refused = [](const std::vector<std::string>& arguments) {
    const ProgramResult result = run_program(arguments);
    CHECK(result.exit_code == 2);
    CHECK(result.output.empty());
    CHECK(result.errors.find("error: ") == 0);
  };
  const TemporaryFile broken(R"({"model_type": "llama", )");
  refused({"inspect", broken.path()});
  refused({"inspect", kConfigs + "/nowhere.json"});
  refused({"inspect", kConfigs + "/gpt2", "--sequence", "1025"});
  refused({"inspect", kConfigs + "/gpt2", "--sequence", "0"});
  refused({"inspect", kConfigs + "/gpt2", "--layers", "13"});
  refused({"inspect", kConfigs + "/gpt2", "--assume", "bert"});
  refused({"inspect"});
}

TEST_CASE("inspect: another family may be assumed") {
  const TemporaryFile file(R"({"model_type": "my_llama", "num_key_value_heads": 8})");
  CHECK(run_program({"inspect", file.path()}).exit_code == 2);
  const ProgramResult assumed = run_program({"inspect", file.path(), "--assume", "llama"});
  CHECK(assumed.exit_code == 0);
  CHECK(assumed.errors.find("my_llama is read as llama: counts follow llama and may be wrong") !=
        std::string::npos);
}

TEST_CASE("inspect: a family refuses the experts it does not have") {
  const TemporaryFile file(R"({"model_type": "mixtral", "num_local_experts": 8})");
  const ProgramResult result = run_program({"inspect", file.path(), "--assume", "mistral"});
  CHECK(result.exit_code == 2);
  CHECK(result.output.empty());
  CHECK(result.errors.find(":1:48: num_local_experts: the family mistral has no experts") !=
        std::string::npos);
}

TEST_CASE("inspect: no experts and no low-rank projections are no obstacle") {
  const TemporaryFile file(
      R"({"model_type": "llama", "num_key_value_heads": 32, "num_experts": 0, "q_lora_rank": null})");
  CHECK(run_program({"inspect", file.path()}).exit_code == 0);
}

}  // namespace
}  // namespace ppplan::cli
