#include "reports/documents/wishes.h"

#include "tests/support/errors.h"

#include <doctest/doctest.h>

#include <string>

namespace ppplan {
namespace {

std::string refusal(const std::string& text) {
  return test::message_of([&] { (void)read_wishes(text, "wishes.yaml"); });
}

std::string hint(const std::string& text) {
  return test::hint_of([&] { (void)read_wishes(text, "wishes.yaml"); });
}

}  // namespace

TEST_CASE("wishes: the words of trainers' configurations") {
  const Wishes wishes = read_wishes(
      "device_map: auto\n"
      "pipeline_parallel_size: 4\n"
      "activation_checkpointing: true\n"
      "micro_batch_size: 2\n"
      "max_sequence_length: 2048\n"
      "memory_pool: dynamic\n"
      "recompute_chunk_size: 512\n"
      "memory_per_device: 1.5GiB\n"
      "schedule: [1f1b, gpipe]\n",
      "wishes.yaml");
  CHECK(wishes.device_map.empty());
  CHECK(wishes.pipeline_parallel_size == 4);
  CHECK(wishes.activation_checkpointing == Recompute::kFull);
  CHECK(wishes.micro_batch_size == 2);
  CHECK(wishes.max_sequence_length == 2048);
  CHECK(wishes.memory_pool == MemoryPool::kDynamic);
  CHECK(wishes.recompute_chunk_size == 512);
  CHECK(wishes.memory_per_device == Bytes{std::int64_t{3} << 29});
  CHECK(wishes.schedules == std::vector<std::string>{"1f1b", "gpipe"});
  CHECK(!wishes.tensor_parallel_size);
}

TEST_CASE("wishes: absent and auto leave every choice to the planner") {
  CHECK(read_wishes("schema: ppplan.wishes/1\n", "w") == Wishes{});
  CHECK(read_wishes(write_wishes({}), "w") == Wishes{});
  CHECK(read_wishes("memory_per_device: auto\nschedule: auto\nzero_stage: ~\nlengths: auto\n"
                    "activation_checkpointing: auto\nlayers_per_stage: auto\n",
                    "w") == Wishes{});
}

TEST_CASE("wishes: checkpointing is said in words or as a truth") {
  const auto read = [](const std::string& word) {
    return read_wishes("activation_checkpointing: " + word + "\n", "w").activation_checkpointing;
  };
  CHECK(read("true") == Recompute::kFull);
  CHECK(read("full") == Recompute::kFull);
  CHECK(read("selective") == Recompute::kSelective);
  CHECK(read("false") == Recompute::kNone);
  CHECK(read("none") == Recompute::kNone);
}

TEST_CASE("wishes: what is written is read back") {
  const Wishes wishes{.device_map = {{"model.layers.0", 0}, {"4-7", 1}, {"a: b", 2}},
                      .layers_per_stage = std::vector<int>{3, 0, 5},
                      .devices = 32,
                      .pipeline_parallel_size = 4,
                      .virtual_pipeline_size = 2,
                      .tensor_parallel_size = 4,
                      .data_parallel_size = 2,
                      .zero_stage = 1,
                      .schedules = {"interleaved-1f1b"},
                      .global_batch_size = 128,
                      .micro_batch_size = 1,
                      .sequence_length = 2048,
                      .max_sequence_length = 4096,
                      .activation_checkpointing = Recompute::kSelective,
                      .recompute_chunk_size = 0,
                      .memory_per_device = Bytes{12345},
                      .memory_reserve = Bytes{1},
                      .memory_pool = MemoryPool::kStatic,
                      .lengths = "lengths 1.csv",
                      .lengths_column = "tokens",
                      .batching = BatchingMethod::kPacked,
                      .max_tokens = 8192};
  const std::string text = write_wishes(wishes);
  CHECK(read_wishes(text, "w") == wishes);
  CHECK(write_wishes(read_wishes(text, "w")) == text);
}

TEST_CASE("wishes: refusals name the place and what would be right") {
  CHECK(refusal("micro_batch_sise: 2\n").find("wishes.yaml:1:") == 0);
  CHECK(hint("micro_batch_sise: 2\n").find("micro_batch_size") != std::string::npos);
  CHECK(refusal("devices: 8\ndevice_map: everywhere\n").find("wishes.yaml:2:13: device_map") == 0);
  CHECK(refusal("device_map: {head: last}\n").find("device_map.head") != std::string::npos);
  CHECK(refusal("pipeline_parallel_size: 0\n").find("from 1 to 65536") != std::string::npos);
  CHECK(refusal("zero_stage: 3\n").find("from 0 to 1") != std::string::npos);
  CHECK(hint("activation_checkpointing: fully\n").find("full") != std::string::npos);
  CHECK(hint("memory_per_device: lots\n").find("64GiB") != std::string::npos);
  CHECK(refusal("sequence_length: 4096\nmax_sequence_length: 2048\n").find("at most") !=
        std::string::npos);
  CHECK(refusal("schema: ppplan.plan/1\n").find("ppplan.wishes/1") != std::string::npos);
  CHECK(refusal("[]\n").find("mapping") != std::string::npos);
}

}  // namespace ppplan
