// ppplan inspect: what a model is made of and what it costs on paper, without any device.
#include "cli/inspect_view.h"
#include "cli/shell.h"
#include "profiler/models/counts.h"
#include "profiler/models/load.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ppplan::cli {
namespace {

using profiler::CountOptions;
using profiler::Precision;

enum class Output { kTable, kJson, kDocument };

struct InspectOptions {
  std::string model;
  profiler::LoadOptions load;
  std::optional<std::int64_t> sequence;
  Precision precision = profiler::kFloat32;
  Output output = Output::kTable;
};

/// Long enough for attention to show, short enough for every published model.
constexpr std::int64_t kUsualSequence = 2048;

CountOptions count_options(const InspectOptions& options, profiler::LoadedModel& loaded) {
  const Model& model = loaded.model;
  const std::int64_t usual = std::min(model.max_sequence, kUsualSequence);
  CountOptions counts{.sequence = options.sequence.value_or(usual), .precision = options.precision};
  profiler::check_sequence(model, counts.sequence);
  if (auto warning = profiler::sequence_warning(model, counts.sequence)) {
    loaded.warnings.push_back(std::move(*warning));
  }
  return counts;
}

void inspect(const InspectOptions& options, const Shell& shell) {
  profiler::LoadedModel loaded = profiler::load_model(options.model, options.load);
  const CountOptions counts = count_options(options, loaded);
  const auto progress = shell.progress();
  for (const std::string& warning : loaded.warnings) progress->note("warning: " + warning);
  if (options.output == Output::kDocument) {
    print(write_model_file(loaded.model));
  } else if (options.output == Output::kJson) {
    print(inspect_json(loaded, counts));
  } else {
    print(inspect_table(loaded.model, counts,
                        shell.colored_output() ? render::Style::kColored : render::Style::kPlain));
  }
}

}  // namespace

void add_inspect(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* verb = app.add_subcommand("inspect", "Show a model's layers and what they cost");
  verb->add_option("MODEL", options->model, "Hugging Face config.json, or its folder")->required();
  verb->add_option("--layers", options->load.layer_count, "Keep only the first N blocks")
      ->option_text("N");
  verb->add_option("--sequence", options->sequence,
                   "Tokens a sample [2048, or the model's positions]")
      ->check(CLI::Range(std::int64_t{1}, profiler::kLongestSequence))
      ->option_text("S");
  verb->add_option("--assume", options->load.assume_family,
                   "Read as this family, whatever the file says")
      ->option_text("FAMILY");
  verb->add_option_function<std::string>(
          "--precision",
          [options](const std::string& name) {
            options->precision = name == "float32" ? profiler::kFloat32 : profiler::kMixedBfloat16;
          },
          "float32 [default], or bfloat16 with float32 optimizer")
      ->check(CLI::IsMember({"float32", "bfloat16"}))
      ->option_text("NAME");
  CLI::Option* json = verb->add_flag_callback(
      "--json", [options] { options->output = Output::kJson; }, "Print JSON instead of a table");
  verb->add_flag_callback(
          "--document", [options] { options->output = Output::kDocument; },
          "Print the layers' programs as a model document")
      ->excludes(json);
  verb->callback([options, &shell] { inspect(*options, shell); });
}

}  // namespace ppplan::cli
