#include "cli/profile_estimate.h"

#include "profiler/estimate/data_sheets.h"
#include "profiler/models/counts.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/render/estimate_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace ppplan::cli {
namespace {

using profiler::EstimateOptions;

/// Without --sequence-lengths: what large models are mostly trained at.
constexpr std::int64_t kUsualSequence = 4096;
/// Without --tensor-parallel: more pays for few models, and needs as many devices in a node.
constexpr int kUsualTensorDegree = 8;
constexpr int kMostDevices = 65'536;  // in a node, or nodes
constexpr std::int64_t kMostInAll = 1'000'000;

std::optional<int> count_of(std::string_view text) {
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < 1 || value > kMostDevices) return std::nullopt;
  return value;
}

/// "16x8": nodes x devices of each.
Cluster parse_cluster(const std::string& text) {
  const std::size_t by = text.find('x');
  if (by != std::string::npos) {
    const std::optional<int> nodes = count_of(std::string_view(text).substr(0, by));
    const std::optional<int> devices = count_of(std::string_view(text).substr(by + 1));
    if (nodes && devices && std::int64_t{*nodes} * *devices <= kMostInAll) {
      return {*nodes, *devices};
    }
  }
  throw Error(Failure::kBadInput, fmt::format("--cluster: expected NODESxDEVICES, found {}", text),
              "128x8 is 128 nodes of 8 devices each");
}

EstimateOptions complete(const EstimateArguments& arguments, const Model& model,
                         const std::vector<int>& micro_batches,
                         const std::vector<std::int64_t>& sequences) {
  EstimateOptions options = arguments.options;
  options.device = profiler::find_data_sheet(*arguments.device);
  options.cluster = arguments.cluster ? parse_cluster(*arguments.cluster)
                                      : Cluster{1, options.device.devices_per_node};
  if (!micro_batches.empty()) options.micro_batches = micro_batches;
  options.sequences = sequences;
  if (sequences.empty()) options.sequences = {std::min(kUsualSequence, model.max_sequence)};
  options.tensor_degrees = arguments.tensor_degrees;
  if (options.tensor_degrees.empty()) {
    options.tensor_degrees = profiler::tensor_degrees(
        model, std::min(kUsualTensorDegree, options.cluster.devices_per_node));
  }
  if (!arguments.context_degrees.empty()) options.context_degrees = arguments.context_degrees;
  return options;
}

}  // namespace

CLI::Option* add_estimate_options(CLI::App& verb, EstimateArguments& arguments) {
  CLI::Option* estimate =
      verb.add_option("--estimate", arguments.device,
                      fmt::format("Measure nothing: {}, or a device.yaml",
                                  fmt::join(profiler::data_sheet_names(), ", ")))
          ->option_text("DEVICE");
  verb.add_option("--cluster", arguments.cluster,
                  "Machines to plan for, nodes x devices of each [one node]")
      ->needs(estimate)
      ->option_text("NxD");
  verb.add_option("--tensor-parallel", arguments.tensor_degrees,
                  "Tensor-parallel degrees to estimate [1,2,4,8 as they divide the model]")
      ->needs(estimate)
      ->delimiter(',')
      ->check(CLI::Range(1, kMostDevices))
      ->option_text("LIST");
  verb.add_option("--context-parallel", arguments.context_degrees,
                  "Context-parallel degrees to estimate, for long sequences [1]")
      ->needs(estimate)
      ->delimiter(',')
      ->check(CLI::Range(1, kMostDevices))
      ->option_text("LIST");
  verb.add_option_function<std::string>(
          "--precision",
          [&arguments](const std::string& name) {
            arguments.options.precision =
                name == "float32" ? profiler::kFloat32 : profiler::kMegatronBfloat16;
          },
          "bfloat16 with float32 gradients and optimizer [default], or float32")
      ->needs(estimate)
      ->check(CLI::IsMember({"bfloat16", "bf16", "float32"}))
      ->option_text("NAME");
  verb.add_option_function<std::string>(
          "--attention",
          [&arguments](const std::string& name) {
            arguments.options.attention = name == "math" ? profiler::AttentionKernel::kMath
                                                         : profiler::AttentionKernel::kFlash;
          },
          "flash [default], or math: scores are stored")
      ->needs(estimate)
      ->check(CLI::IsMember({"flash", "math"}))
      ->option_text("NAME");
  verb.add_flag_callback(
          "--dropout", [&arguments] { arguments.options.dropout = true; },
          "Count dropout's masks; which models are trained with, configurations do not tell")
      ->needs(estimate)
      ->option_text(" ");
  return estimate;
}

void estimate_profile(const EstimateArguments& arguments, const profiler::LoadedModel& loaded,
                      const std::vector<int>& micro_batches,
                      const std::vector<std::int64_t>& sequences, const std::string& output,
                      const Shell& shell) {
  std::error_code absent;
  if (std::filesystem::equivalent(*arguments.device, output, absent)) {
    throw Error(Failure::kBadInput, fmt::format("-o {}: that is the device itself", output),
                "give the profile a name of its own: -o profile.yaml");
  }
  const EstimateOptions options = complete(arguments, loaded.model, micro_batches, sequences);
  OutputFile file(output);
  Profile profile = profiler::estimate(loaded.model, options);
  profile.input_sha256 = loaded.sha256;
  file.commit(write_profile(profile));
  if (output == "-") return;  // standard output holds the document
  print(render::estimate_view(profile, shell.table_options()));
  shell.progress()->note(fmt::format(
      "wrote {}; next: ppplan partition {} --global-batch B -o plan.yaml", output, output));
}

}  // namespace ppplan::cli
