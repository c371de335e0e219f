// The options of ppplan partition, and the question that they make together.
#pragma once

#include "cli/partition_graph.h"
#include "cli/partition_lengths.h"
#include "planner/partition.h"
#include "reports/documents/units.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::cli {

/// As the command line gives it; empty and absent is "not given".
struct PartitionArguments {
  std::string profile;
  std::string output;
  std::string memory;
  std::vector<std::string> schedules;
  std::vector<std::string> pins;
  std::vector<int> layer_counts;
  std::vector<int> device_order;
  std::optional<int> stages;
  std::optional<int> virtual_count;
  std::optional<std::int64_t> global_batch;
  std::optional<int> micro_batch;
  std::optional<std::int64_t> sequence;
  std::optional<int> tensor_parallel;
  std::optional<int> data_parallel;
  std::string data_sharding;
  std::string recompute;
  std::optional<std::int64_t> recompute_chunk;
  std::string reserve;
  bool forward_only = false;
  std::string objective;
  std::string sweep;
  std::optional<double> price;  ///< of a device-hour, in dollars
  std::string config;
  std::string written_config;
  bool json = false;
  GraphQuestion graph;
  LengthsQuestion lengths;
};

/// Declares all options of the verb.
void add_partition_options(CLI::App& verb, PartitionArguments& arguments);

/// A size as options give it. Throws Error(kBadInput) naming the flag.
Bytes size_of(const char* flag, const std::string& text);

/// The number of --devices of a plan. Throws Error(kBadInput).
int device_count_of(const std::string& text);

/// Refuses, with Error(kBadInput), to read several things from standard input.
void check_sources(const PartitionArguments& arguments);

/// Refuses options that do not go together and what is missing, with Error(kBadInput).
void check_arguments(const PartitionArguments& arguments);

/// Throws Error(kBadInput) for sizes, words and pins that cannot be read. Precondition:
/// check_arguments, and no --rules.
planner::PartitionOptions options_of(const PartitionArguments& arguments);

/// Operations a token that the model itself asks for: of training, or of the forward pass alone.
double flops_per_token(const Model& model, const planner::PartitionOptions& options,
                       std::int64_t sequence);

}  // namespace ppplan::cli
