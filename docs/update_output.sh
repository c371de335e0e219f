#!/usr/bin/env bash
# Puts the commands and texts of the last ./quickstart.sh into the README, between its output marks.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

texts=build/quickstart
output=$(mktemp)
trap 'rm -f "$output"' EXIT
{
  printf '```text\n'
  for step in inspect profile partition run; do
    [[ -s $texts/$step.key ]] || { printf 'error: %s did not finish: run ./quickstart.sh first\n' "$step" >&2 && exit 1; }
    if [[ $step != inspect ]]; then printf '\n'; fi
    printf '$ %s\n' "$(head -n 1 "$texts/$step.key")"
    sed 's/[[:space:]]*$//' "$texts/$step.txt"
  done
  printf '```\n'
} >"$output"

awk -v output="$output" '
  $0 == "<!-- /output -->" {inside = 0}
  !inside
  $0 == "<!-- output -->" {inside = 1; while ((getline line < output) > 0) print line}
' README.md >README.md.new
mv README.md.new README.md
