#!/usr/bin/env bash
# Runs every command of the documents: each line that starts with "$ " inside a ```console block, in
# order, in an empty folder where the project's model configurations are found under their usual path. A
# command must exit with 0, or with N where it ends in "# exits with N". Lines without "$ " are output and
# only for the reader. The first failure ends the test.
#   readme_test.sh PROJECT_FOLDER PROGRAM_FOLDER SCRATCH_FOLDER DOCUMENT...
set -euo pipefail

project=$1 programs=$2 scratch=$3
shift 3
rm -rf -- "$scratch"
mkdir -p "$scratch/profiler/models"
ln -s "$project/profiler/models/configs" "$scratch/profiler/models/configs"
export PATH=$programs:$PATH

# commands DOCUMENT: the commands of its console blocks, one a line.
commands() {
  awk '/^```/ {inside = ($0 == "```console"); next} inside && sub(/^\$ /, "")' "$1"
}

run_count=0
for document in "$@"; do
  mapfile -t lines < <(commands "$project/$document")
  for line in ${lines[@]+"${lines[@]}"}; do
    expected=0
    if [[ $line =~ \#\ exits\ with\ ([0-9]+)$ ]]; then expected=${BASH_REMATCH[1]}; fi
    printf '%s: $ %s\n' "$document" "$line"
    status=0
    (cd -- "$scratch" && bash -c "$line") </dev/null || status=$?
    if ((status != expected)); then
      printf '%s: exited with %d, expected %d: %s\n' "$document" "$status" "$expected" "$line" >&2
      exit 1
    fi
    run_count=$((run_count + 1))
  done
done
((run_count > 0)) || { printf 'no command was found\n' >&2 && exit 1; }
printf '%d commands ran\n' "$run_count"
