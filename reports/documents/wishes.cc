#include "reports/documents/wishes.h"

#include "reports/documents/described.h"
#include "reports/documents/excerpt.h"
#include "reports/documents/file.h"
#include "reports/documents/lengths.h"
#include "reports/documents/mapping.h"
#include "reports/documents/scalar.h"

#include <fmt/format.h>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace ppplan {
namespace {

constexpr Schema kSchema = {"wishes", 1};
constexpr std::string_view kAuto = "auto";
constexpr IntegerRange kDegree = {1, 65'536};
constexpr IntegerRange kStage = {0, 65'535};
constexpr IntegerRange kLayers = {0, 100'000};
constexpr IntegerRange kSamples = {1, 1'000'000'000};
constexpr IntegerRange kChunk = {0, 1'000'000'000};
constexpr IntegerRange kTokens = {1, kLongestSample};
constexpr IntegerRange kZeroStage = {0, 1};

bool is_auto(const Node& node) {
  return node.kind == Node::Kind::kScalar && node.scalar == kAuto;
}

/// A key that neither is absent nor leaves the choice to the planner.
bool pins(const Fields& fields, std::string_view key) {
  return fields.has(key) && !is_auto(fields.node(key));
}

template <typename T, typename... Range>
void wish(MappingReader& io, std::string_view key, std::optional<T>& value, Range... range) {
  value.reset();
  if (pins(io.fields(), key)) io(key, value.emplace(), range...);
}

template <typename T, typename... Range>
void wish(MappingWriter& io, std::string_view key, const std::optional<T>& value,
          const Range&... /*range*/) {
  value ? io(key, *value) : io(key, kAuto);
}

template <typename T>
void wish_word(MappingReader& io, std::string_view key, std::optional<T>& value,
               const std::vector<std::string>& words) {
  value.reset();
  if (pins(io.fields(), key)) io.word(key, value.emplace(), words);
}

template <typename T>
void wish_word(MappingWriter& io, std::string_view key, const std::optional<T>& value,
               const std::vector<std::string>& words) {
  value ? io.word(key, *value, words) : io(key, kAuto);
}

/// "64GiB", or a number of bytes.
void wish_size(MappingReader& io, std::string_view key, std::optional<Bytes>& value) {
  value.reset();
  const Fields& fields = io.fields();
  if (!pins(fields, key)) return;
  const Node& node = fields.node(key);
  if (node.kind == Node::Kind::kScalar) value = parse_bytes(node.scalar);
  if (!value) {
    fields.fail(key, "expected a size, found " + ppplan::describe(node),
                "give bytes with their unit, such as 64GiB or 512MiB");
  }
}

void wish_size(MappingWriter& io, std::string_view key, const std::optional<Bytes>& value) {
  wish(io, key, value);
}

/// Trainers say true and false; `true` is full.
void wish_recompute(MappingReader& io, std::string_view key, std::optional<Recompute>& value) {
  static const std::vector<std::string> words = {"none", "selective", "full", "false", "true"};
  value.reset();
  if (!pins(io.fields(), key)) return;
  const std::size_t word = io.fields().word(key, words);
  if (word < kRecomputeCount) {
    value = static_cast<Recompute>(word);
  } else {
    value = words[word] == "true" ? Recompute::kFull : Recompute::kNone;
  }
}

void wish_recompute(MappingWriter& io, std::string_view key,
                    const std::optional<Recompute>& value) {
  wish_word(io, key, value, recompute_words());
}

/// One name, or a list of them.
void wish_names(MappingReader& io, std::string_view key, std::vector<std::string>& names) {
  names.clear();
  const Fields& fields = io.fields();
  if (!pins(fields, key)) return;
  if (fields.node(key).kind == Node::Kind::kSequence) {
    names = fields.texts(key);
  } else {
    names = {fields.text(key)};
  }
}

void wish_names(MappingWriter& io, std::string_view key, const std::vector<std::string>& names) {
  if (names.empty()) return io(key, kAuto);
  names.size() == 1 ? io(key, names.front()) : io(key, names);
}

/// A device map as one row: its keys are layers.
struct LayerRow {
  const std::vector<MappedLayer>* layers = nullptr;
};

void describe(MappingWriter& io, const LayerRow& row) {
  for (const MappedLayer& one : *row.layers) io(MappingWriter::yaml(one.layer), one.stage);
}

void wish_map(MappingReader& io, std::string_view key, std::vector<MappedLayer>& layers) {
  layers.clear();
  const Fields& fields = io.fields();
  if (!pins(fields, key)) return;
  if (fields.node(key).kind != Node::Kind::kMapping) {
    fields.fail(
        key,
        "expected auto or the stage of each layer, found " + ppplan::describe(fields.node(key)),
        "write for instance device_map: {model.embed_tokens: 0, lm_head: 3}");
  }
  const Fields map = fields.map(key);
  for (const std::string& layer : map.keys()) {
    layers.push_back({.layer = layer, .stage = map.count(layer, kStage)});
  }
}

void wish_map(MappingWriter& io, std::string_view key, const std::vector<MappedLayer>& layers) {
  layers.empty() ? io(key, kAuto) : io.block(key, LayerRow{&layers});
}

}  // namespace

template <typename Io>
void describe(Io& io, Like<Wishes> auto& wishes) {
  wish_map(io, "device_map", wishes.device_map);
  wish(io, "layers_per_stage", wishes.layers_per_stage, kLayers);
  wish(io, "devices", wishes.devices, kDegree);
  wish(io, "pipeline_parallel_size", wishes.pipeline_parallel_size, kDegree);
  wish(io, "virtual_pipeline_size", wishes.virtual_pipeline_size, kDegree);
  wish(io, "tensor_parallel_size", wishes.tensor_parallel_size, kDegree);
  wish(io, "data_parallel_size", wishes.data_parallel_size, kDegree);
  wish(io, "zero_stage", wishes.zero_stage, kZeroStage);
  wish_names(io, "schedule", wishes.schedules);
  wish(io, "global_batch_size", wishes.global_batch_size, kSamples);
  wish(io, "micro_batch_size", wishes.micro_batch_size, kSamples);
  wish(io, "sequence_length", wishes.sequence_length, kTokens);
  wish(io, "max_sequence_length", wishes.max_sequence_length, kTokens);
  wish_recompute(io, "activation_checkpointing", wishes.activation_checkpointing);
  wish(io, "recompute_chunk_size", wishes.recompute_chunk_size, kChunk);
  wish_size(io, "memory_per_device", wishes.memory_per_device);
  wish_size(io, "memory_reserve", wishes.memory_reserve);
  wish_word(io, "memory_pool", wishes.memory_pool, memory_pool_words());
  wish(io, "lengths", wishes.lengths);
  wish(io, "lengths_column", wishes.lengths_column);
  wish_word(io, "batching", wishes.batching, batching_method_words());
  wish(io, "max_tokens", wishes.max_tokens, kTokens);
}

void validate(const Wishes& wishes, const Fields& fields) {
  if (wishes.sequence_length && wishes.max_sequence_length &&
      *wishes.sequence_length > *wishes.max_sequence_length) {
    fields.fail("sequence_length",
                fmt::format("expected at most the max_sequence_length of {}, found {}",
                            *wishes.max_sequence_length, *wishes.sequence_length));
  }
}

Wishes read_wishes(std::string_view text, const std::string& name) {
  const ParsedFile file = parse_yaml(text, name);
  const Fields fields(file, file.root);
  if (fields.has("schema")) check_schema(fields, kSchema);
  Wishes wishes;
  MappingReader::fill(fields, wishes);
  return wishes;
}

Wishes load_wishes(const std::filesystem::path& path) {
  return read_wishes(read_file(path), path.string());
}

std::string write_wishes(const Wishes& wishes) {
  return write_document(wishes, kSchema);
}

}  // namespace ppplan
