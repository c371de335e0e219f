// ppplan: one verb a file; this one parses, dispatches and turns errors into exit codes.
#include "cli/shell.h"
#include "reports/documents/error.h"
#include "reports/documents/node.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppplan::cli {
namespace {

void report(std::string_view message, std::string_view hint) {
  // Not fmt::print, which throws when standard error is closed.
  std::fputs(fmt::format("error: {}\n", message).c_str(), stderr);
  if (!hint.empty()) std::fputs(fmt::format("hint: {}\n", hint).c_str(), stderr);
}

/// CLI11 answers a mistyped verb only with "a subcommand is required".
std::string verb_hint(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(verb->get_name());
  }
  for (int position = 1; position < argc; ++position) {
    const std::string_view word = argv[position];
    if (word.starts_with("-")) continue;
    if (const std::optional<std::string> verb = nearest_word(word, verbs); verb && *verb != word) {
      return fmt::format("did you mean 'ppplan {}'?", *verb);
    }
    break;
  }
  return "see 'ppplan --help'";
}

int run(int argc, char** argv) {
  CLI::App app{"Measures, plans, runs and exports pipeline-parallel training."};
  app.name("ppplan");
  Shell shell;
  app.set_version_flag("--version", "ppplan " PPPLAN_VERSION);
  app.add_option("--color", shell.color_wish, "Colours on standard output: auto, always, never")
      ->transform(CLI::CheckedTransformer(
          std::vector<std::pair<std::string, ColorWish>>{{"auto", ColorWish::kAuto},
                                                         {"always", ColorWish::kAlways},
                                                         {"never", ColorWish::kNever}}))
      ->option_text("WHEN");
  app.require_subcommand(1);
  app.fallthrough();
  add_doctor(app, shell);
  add_inspect(app, shell);
  add_profile(app, shell);
  add_partition(app, shell);
  add_run(app, shell);
  add_export(app, shell);
  add_schedule(app, shell);
  try {
    app.parse(argc, argv);
    return shell.exit_code;
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    report(e.what(), verb_hint(app, argc, argv));
    return static_cast<int>(Failure::kBadInput);
  }
}

}  // namespace
}  // namespace ppplan::cli

int main(int argc, char** argv) {
  ppplan::cli::prepare_streams();
  try {
    return ppplan::cli::run(argc, argv);
  } catch (const ppplan::Error& e) {
    ppplan::cli::report(e.what(), e.hint());
    return static_cast<int>(e.failure());
  } catch (const std::bad_alloc&) {
    ppplan::cli::report("out of memory", "close other programs, or make the input smaller");
  } catch (const std::exception& e) {
    ppplan::cli::report(e.what(),
                        "this is a fault of ppplan: please report it with the command line");
  }
  return static_cast<int>(ppplan::Failure::kRuntime);
}
