// How the program talks to its user: colours, progress, exit code. One Shell is made by main.
#pragma once

#include "reports/progress.h"
#include "reports/render/table.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace ppplan::cli {

enum class ColorWish { kAuto, kAlways, kNever };

/// Shared by all verbs. A verb's callback prints its result to standard output, sets `exit_code`
/// when it is not 0, and throws Error for everything that goes wrong.
struct Shell {
  ColorWish color_wish = ColorWish::kAuto;
  int exit_code = 0;

  /// True when standard output may carry colours: asked for, or a terminal without NO_COLOR.
  [[nodiscard]] bool colored_output() const;
  /// For tables on standard output: as wide as its terminal, 100 columns when it is none.
  [[nodiscard]] render::TableOptions table_options() const;
  /// True when standard error is a terminal.
  [[nodiscard]] bool watched() const;
  /// A bar with time remaining when standard error is a terminal; notes only otherwise.
  [[nodiscard]] std::unique_ptr<Progress> progress() const;
};

/// To be called first: a closed pipe becomes an error of the write, not a signal, and standard
/// streams that were closed become /dev/null, so that no file we open takes their numbers.
void prepare_streams();

/// Writes text to standard output. A reader that went away is no error: the rest is dropped. Throws
/// Error(kRuntime) for everything else that prevents writing.
void print(const std::string& text);

/// One function a verb, each in a file of its name: declares the sub-command and its callback.
void add_doctor(CLI::App& app, Shell& shell);
void add_explain(CLI::App& app, Shell& shell);
void add_export(CLI::App& app, Shell& shell);
void add_import(CLI::App& app, Shell& shell);
void add_inspect(CLI::App& app, Shell& shell);
void add_partition(CLI::App& app, Shell& shell);
void add_profile(CLI::App& app, Shell& shell);
void add_run(CLI::App& app, Shell& shell);
void add_schedule(CLI::App& app, Shell& shell);

}  // namespace ppplan::cli
