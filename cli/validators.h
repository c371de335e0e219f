// Checks of numbers on the command line that CLI11's own let pass.
#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <string>

namespace ppplan::cli {

/// A finite number within both ends; CLI::Range lets "nan" through.
inline CLI::Validator finite_range(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    double value = 0.0;
    if (!CLI::detail::lexical_cast(text, value)) return "expected a number, found " + text;
    if (std::isfinite(value) && value >= least && value <= most) return {};
    return "expected a number from " + CLI::detail::to_string(least) + " to " +
           CLI::detail::to_string(most) + ", found " + text;
  };
  return {check, "NUMBER", "finite_range"};
}

}  // namespace ppplan::cli
