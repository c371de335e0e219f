// wishes.yaml: what one wants of a plan, in the words that configurations of trainers use. Every
// key may be absent or `auto`; each of the others pins one thing, and the planner finds the rest.
//
//   device_map: auto              # or layers by name, "0-3" by number: the stage of each
//   pipeline_parallel_size: 4
//   activation_checkpointing: true
//   micro_batch_size: 2
//   memory_per_device: 64GiB
#pragma once

#include "reports/documents/batching.h"
#include "reports/documents/profile.h"
#include "reports/documents/units.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppplan {

/// One entry of a device map.
struct MappedLayer {
  std::string layer;  ///< "model.layers.3", "0-3", "head"
  int stage = 0;
  bool operator==(const MappedLayer&) const = default;
};

/// Empty is absent or `auto`.
struct Wishes {
  std::vector<MappedLayer> device_map;  ///< in file order
  std::optional<std::vector<int>> layers_per_stage;
  std::optional<int> devices;
  std::optional<int> pipeline_parallel_size;
  std::optional<int> virtual_pipeline_size;  ///< stages a device
  std::optional<int> tensor_parallel_size;
  std::optional<int> data_parallel_size;
  std::optional<int> zero_stage;  ///< 0: each pipeline its own optimizer; 1: divided among them
  std::vector<std::string> schedules;
  std::optional<std::int64_t> global_batch_size;
  std::optional<int> micro_batch_size;
  std::optional<std::int64_t> sequence_length;
  /// Longer samples are cut to it; tokens of every sample where neither their lengths nor
  /// sequence_length are given.
  std::optional<std::int64_t> max_sequence_length;
  std::optional<Recompute> activation_checkpointing;  ///< the most that may be recomputed
  std::optional<std::int64_t> recompute_chunk_size;   ///< tokens; 0: all at once
  std::optional<Bytes> memory_per_device;
  std::optional<Bytes> memory_reserve;  ///< of that, kept free
  std::optional<MemoryPool> memory_pool;
  std::optional<std::string> lengths;  ///< path of the samples' lengths
  std::optional<std::string> lengths_column;
  std::optional<BatchingMethod> batching;
  std::optional<std::int64_t> max_tokens;  ///< of a micro-batch
  bool operator==(const Wishes&) const = default;
};

/// A schema line is not needed; one of another kind or version is
/// refused. Throw Error(kBadInput) "file:line:column: key: expected ..., found ..." with a hint.
Wishes read_wishes(std::string_view text, const std::string& name);
Wishes load_wishes(const std::filesystem::path& path);
/// Every key, `auto` where empty, after a schema line; reading it back gives equal Wishes.
std::string write_wishes(const Wishes& wishes);

}  // namespace ppplan
