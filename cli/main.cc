// ppplan: one verb a file; this one parses, dispatches and turns errors into exit codes.
#include "cli/shell.h"
#include "reports/documents/error.h"
#include "reports/documents/node.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ppplan::cli {
namespace {

void report(std::string_view message, std::string_view hint) {
  // Not fmt::print, which throws when standard error is closed.
  std::fputs(fmt::format("error: {}\n", message).c_str(), stderr);
  if (!hint.empty()) std::fputs(fmt::format("hint: {}\n", hint).c_str(), stderr);
}

/// CLI11 leaves REQUIRED out where an option has a text of its own.
class Formatter final : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const bool silent = option->get_required() && !option->get_option_text().empty();
    return CLI::Formatter::make_option_opts(option) + (silent ? " REQUIRED" : "");
  }
};

/// What a wrong command line is answered with.
struct Answer {
  std::string message;
  std::string hint;
};

/// CLI11 answers a mistyped verb only with "a subcommand is required".
Answer answer_without_verb(const CLI::App& app, std::string message) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(verb->get_name());
  }
  Answer answer{.message = std::move(message), .hint = "see 'ppplan --help'"};
  const std::vector<std::string> left = app.remaining();
  const auto word = std::find_if(left.begin(), left.end(),
                                 [](const std::string& one) { return !one.starts_with("-"); });
  if (word == left.end()) return answer;
  answer.message = fmt::format("unknown verb '{}'", *word);
  if (const std::optional<std::string> verb = nearest_word(*word, verbs)) {
    answer.hint = fmt::format("did you mean 'ppplan {}'?", *verb);
  }
  return answer;
}

/// CLI11 checks what is required before it tells of options that it does not know, and has no
/// suggestion for these.
Answer answer_of_verb(const CLI::App& app, const CLI::App& verb, std::string message) {
  const std::string help = fmt::format("see 'ppplan {} --help'", verb.get_name());
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with("-")) continue;
    const std::string option = word.substr(0, word.find('='));
    std::vector<std::string> known;
    for (const CLI::Option* one : verb.get_options()) {
      for (const std::string& name : one->get_lnames()) known.push_back("--" + name);
    }
    const std::optional<std::string> near = nearest_word(option, known);
    return {.message = fmt::format("unknown option {}", option),
            .hint = near ? fmt::format("did you mean {}? {}", *near, help) : help};
  }
  return {.message = std::move(message), .hint = help};
}

Answer answer_to(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return verbs.empty() ? answer_without_verb(app, error.what())
                       : answer_of_verb(app, *verbs.front(), error.what());
}

int run(int argc, char** argv) {
  CLI::App app{"Measures, plans, runs and exports pipeline-parallel training."};
  app.name("ppplan");
  app.formatter(std::make_shared<Formatter>());
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
  add_import(app, shell);
  add_inspect(app, shell);
  add_profile(app, shell);
  add_partition(app, shell);
  add_explain(app, shell);
  add_run(app, shell);
  add_export(app, shell);
  add_schedule(app, shell);
  try {
    app.parse(argc, argv);
    return shell.exit_code;
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const Answer answer = answer_to(app, e);
    report(answer.message, answer.hint);
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
