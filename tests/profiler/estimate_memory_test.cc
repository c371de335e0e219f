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

TEST_CASE("estimate: selective recompute makes the scores again in backward and needs no more") {
  const Model model = gpt();
  const auto memory = [&](Recompute recompute) {
    return memory_of(model, 1, stored_scores(1), {.tokens = s * b, .recompute = recompute});
  };
  const PassMemory none = memory(Recompute::kNone);
  const PassMemory selective = memory(Recompute::kSelective);
  CHECK(selective.backward_peak.count >= 5 * a * s * s * b);
  CHECK(selective.saved + selective.backward_peak <= none.saved + none.backward_peak);
  CHECK(selective.forward_peak <= none.forward_peak);
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

// By hand, a token of a Llama block in bfloat16 (2 bytes): the input h, its norm h, query H E, key
// and value 2 K E, attention's output H E, the sum h, its norm h, gate, up and their product 3 F.
//   2 (4 h + 2 H E + 2 K E + 3 F) = 2 (4 * 64 + 2 * 4 * 24 + 2 * 2 * 24 + 3 * 96) = 1664
TEST_CASE("estimate: a Llama block keeps what is counted by hand, divided by t") {
  const Model model = testing::llama_of({.hidden = 64,
                                         .head_count = 4,
                                         .kv_head_count = 2,
                                         .head_size = 24,
                                         .feed_forward = 96,
                                         .vocabulary = 512});
  for (const int t : {1, 2}) {
    CAPTURE(t);
    const ProgramOptions options{.sequence = s, .tensor = t, .precision = kMegatronBfloat16};
    const auto memory = [&](PassShape shape) { return memory_of(model, 1, options, shape); };
    CHECK(memory({.tokens = s}).saved.count == 1664 * s / t);
    CHECK(memory({.tokens = s, .recompute = Recompute::kSelective}).saved.count == 1664 * s / t);
    CHECK(memory({.tokens = s, .recompute = Recompute::kFull}).saved.count == 2 * 64 * s / t);
    CHECK(memory({.tokens = s}).output.count == 2 * 64 * s / t);
  }
  // Above its input, forward ends with all of that but the input, the output h and the last
  // product's h: 2 (3 h + 2 H E + 2 K E + 3 F) + 4 h.
  const ProgramOptions alone{.sequence = s, .precision = kMegatronBfloat16};
  const PassMemory none = memory_of(model, 1, alone, {.tokens = s});
  CHECK(none.forward_peak.count == (1664 - 2 * 64 + 4 * 64) * s);
  // Backward is highest in the gated product: gradients of gate and up, in place of the product
  // and its gradient: 4 F, of which 2 F were saved.
  CHECK(none.backward_peak.count == 4 * 96 * s);
  // Full: another forward's values, then the same backward.
  const PassMemory full = memory_of(model, 1, alone, {.tokens = s, .recompute = Recompute::kFull});
  CHECK(full.backward_peak.count == (1664 - 2 * 64 + 4 * 96) * s);
  // Both factors of the products: h twice, q, k, v's gradients, attention's output, h's gradient
  // twice, gate's and up's gradients, their product.
  CHECK(none.weight_pending.count == 2 * (4 * 64 + 2 * 4 * 24 + 2 * 2 * 24 + 3 * 96) * s);
}

// In chunks of c tokens a block's backward is highest either in the attention: q, k, v, its output
// and that one's gradient, gradients of q, k, v and of the block's input, for all tokens; or in the
// feed forward: the first five and the input's gradient for all tokens, and a chunk of the rest.
TEST_CASE("estimate: full recompute in chunks holds the attention's borders and one chunk") {
  const Model model = testing::llama_of({.hidden = 64,
                                         .head_count = 4,
                                         .kv_head_count = 4,
                                         .head_size = 16,
                                         .feed_forward = 4096,
                                         .vocabulary = 512});
  const ProgramOptions options{.sequence = s, .precision = kMegatronBfloat16};
  const auto peak = [&](std::int64_t chunk) {
    return memory_of(model, 1, options,
                     {.tokens = s, .recompute = Recompute::kFull, .chunk = chunk})
        .backward_peak.count;
  };
  CHECK(peak(1) == 2 * 64 * 9 * s);
  std::int64_t last = peak(1);
  for (const std::int64_t chunk : {16, 64, 256, 512}) {
    CAPTURE(chunk);
    CHECK(peak(chunk) >= last);
    last = peak(chunk);
  }
  // The block's input's gradient, q, k, v, a, and a's gradient; then for a chunk: the sum, its
  // norm, gate, up, and the gradients of their product, of gate and of up, the product itself being
  // freed.
  CHECK(peak(512) == 2 * 64 * 6 * s + (2 * 64 * 2 + 2 * 5 * 4096) * 512);
  CHECK(peak(512) < peak(0));
}

TEST_CASE("estimate: a head in chunks keeps no logits and holds a chunk's at a time") {
  const Model model = gpt();
  const PassMemory whole = memory_of(model, 2, stored_scores(1), {.tokens = s * b});
  const PassMemory chunked = memory_of(model, 2, stored_scores(1), {.tokens = s * b, .chunk = 256});
  CHECK(whole.saved.count - chunked.saved.count == 4 * s * b * v);
  CHECK(chunked.forward_peak.count == 2 * s * b * h + (4 + 2) * 256 * v);
  CHECK(chunked.backward_peak.count == 2 * s * b * h + (4 + 2) * 256 * v);
}

TEST_CASE("estimate: more devices of a tensor-parallel group never hold more") {
  const Model gpt_model = gpt();
  const Model llama = testing::llama_of({.hidden = 1024, .head_count = 8, .feed_forward = 2816});
  for (const Model& model : {gpt_model, llama}) {
    for (const int kind : {1, 2}) {
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        for (const std::int64_t chunk : {0, 256}) {
          if (kind == 2 && recompute != Recompute::kNone) continue;
          if (kind == 1 && chunk > 0 && recompute != Recompute::kFull) continue;
          CAPTURE(model.name);
          CAPTURE(kind);
          CAPTURE(static_cast<int>(recompute));
          CAPTURE(chunk);
          PassMemory fewer = memory_of(model, kind, stored_scores(1), {s, recompute, chunk});
          for (const int t : {2, 4, 8}) {
            const PassMemory more = memory_of(model, kind, stored_scores(t), {s, recompute, chunk});
            CHECK(more.saved <= fewer.saved);
            CHECK(more.forward_peak <= fewer.forward_peak);
            CHECK(more.backward_peak <= fewer.backward_peak);
            CHECK(more.weight_pending <= fewer.weight_pending);
            CHECK(more.output <= fewer.output);
            fewer = more;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ppplan::profiler
