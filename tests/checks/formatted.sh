#!/usr/bin/env bash
# Fails when a C++ file is not as clang-format 14 would write it.
#   formatted.sh PROJECT_FOLDER CLANG_FORMAT
set -euo pipefail
cd -- "$1"

find cli executor planner profiler reports tests '(' -name '*.h' -o -name '*.cc' ')' -print0 |
  xargs --null --no-run-if-empty "$2" --dry-run -Werror
