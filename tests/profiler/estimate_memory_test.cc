#include "profiler/estimate/estimate.h"
#include "profiler/estimate/program_memory.h"
#include "profiler/estimate/sharded_program.h"
#include "profiler/models/load.h"
#include "tests/support/estimated_profile.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace ppplan::profiler {
namespace {

// Letters of Korthikanti et al. 2022: s sequence, b micro-batch, h hidden, a heads, t
// tensor-parallel degree, v vocabulary.
constexpr std::int64_t s = 1024;
constexpr std::int64_t b = 2;
constexpr std::int64_t h = 768;
constexpr std::int64_t a = 16;
constexpr std::int64_t v = 50304;

Model gpt() {
  const std::string config =
      fmt::format(R"({{"model_type": "gpt2", "n_embd": {}, "n_layer": 2, "n_head": {},
                       "n_positions": {}, "vocab_size": {}}})",
                  h, a, s, v);
  return read_model_config(config, "gpt", "gpt", {}).model;
}

PassMemory memory_of(const Model& model, int kind, const ProgramOptions& options,
                     const PassShape& shape) {
  return pass_memory(shard_program(model, model.kinds[static_cast<std::size_t>(kind)], options),
                     shape);
}

ProgramOptions stored_scores(int t) {
  return {.sequence = s,
          .tensor = t,
          .attention = AttentionKernel::kMath,
          .dropout = true,
          .precision = kMegatronBfloat16};
}

TEST_CASE("estimate: a GPT block keeps what Korthikanti et al. say, divided by t") {
  const Model model = gpt();
  for (const int t : {1, 2, 4, 8, 16}) {
    CAPTURE(t);
    const auto saved = [&](Recompute recompute) {
      return memory_of(model, 1, stored_scores(t), {.tokens = s * b, .recompute = recompute})
          .saved.count;
    };
    CHECK(saved(Recompute::kNone) == (34 * s * b * h + 5 * a * s * s * b) / t);
    CHECK(saved(Recompute::kSelective) == 34 * s * b * h / t);
    CHECK(saved(Recompute::kFull) == 2 * s * b * h / t);
    ProgramOptions flash = stored_scores(t);
    flash.attention = AttentionKernel::kFlash;
    CHECK(memory_of(model, 1, flash, {.tokens = s * b}).saved.count == 34 * s * b * h / t);
  }
}

TEST_CASE("estimate: the ends of a GPT keep what Korthikanti et al. say, section 4.3") {
  const Model model = gpt();
  for (const int t : {1, 2, 4, 8}) {
    CAPTURE(t);
    // The embedding's dropout mask, and the tokens, of which each device has all.
    CHECK(memory_of(model, 0, stored_scores(t), {.tokens = s * b}).saved.count ==
          s * b * h / t + 8 * s * b);
    // 4 s b h (1 + v / h): the last norm's input, the head's input, the logits in float32.
    CHECK(memory_of(model, 2, stored_scores(t), {.tokens = s * b}).saved.count ==
          4 * s * b * (h + v) / t);
  }
}

}  // namespace
}  // namespace ppplan::profiler
