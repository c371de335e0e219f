#!/usr/bin/env bash
# Fails when a shell script of the project does not parse; where shellcheck is installed, also when it
# warns.
#   shell_scripts.sh PROJECT_FOLDER
set -euo pipefail
cd -- "$1"

mapfile -t scripts < <(find . -path ./build -prune -o -path ./.git -prune -o \
  -type f \( -name '*.sh' -o -path ./.ci/run \) -print | sort)
for script in "${scripts[@]}"; do bash -n "$script"; done
if command -v shellcheck >/dev/null; then shellcheck -x "${scripts[@]}"; fi
printf '%d scripts read\n' "${#scripts[@]}"
