#!/usr/bin/env bash
# Sets up, builds, and does the main job on a bundled model: inspect, profile, partition, run on two
# local processes. Every step prints the command it runs. Interrupt and repeat at will: finished steps
# are not done again unless something they depend on has changed.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
source cmake/setup.sh

readonly model=profiler/models/configs/smollm2-135m
readonly layers=6 # of 30: the main job then takes under two minutes on two cores
readonly out=build/quickstart
readonly ppplan=build/release/ppplan

# job NAME OUTPUT INPUT... -- COMMAND...: runs the command, keeping what it prints in NAME.txt. When
# OUTPUT is already there from the same command, programs and inputs, prints that text again.
job() {
  local name=$1 output=$2 inputs=()
  shift 2
  while [[ $1 != -- ]]; do
    inputs+=("$1")
    shift
  done
  shift
  local key text=$out/$name.txt
  key=$(command_line "$@" && printf '\n' && sha256sum -- "$ppplan" "$ppplan-worker" "${inputs[@]}")
  printf '\n$ %s\n' "$(command_line "$@")"
  if [[ -e $output && -f $text && -f $out/$name.key && $(<"$out/$name.key") == "$key" ]]; then
    say "not done again: nothing has changed since $(date -r "$text" '+%F %T')"
    cat "$text"
    return
  fi
  rm -f "$out/$name.key"
  "$@" | tee "$text"
  printf '%s\n' "$key" >"$out/$name.key"
}

setup_system_packages
setup_torch
configure release
compile release ppplan ppplan-worker
mkdir -p "$out"

job inspect "$out" "$model/config.json" -- \
  "$ppplan" inspect "$model" --layers "$layers"
job profile "$out/profile.yaml" "$model/config.json" -- \
  "$ppplan" profile "$model" --layers "$layers" -o "$out/profile.yaml"
job partition "$out/plan.yaml" "$out/profile.yaml" -- \
  "$ppplan" partition "$out/profile.yaml" --stages 2 --global-batch 8 -o "$out/plan.yaml"
job run "$out/run/report.yaml" "$out/plan.yaml" -- \
  "$ppplan" run "$out/plan.yaml" -o "$out/run"

printf '\n'
say "profile, plan and report are in $out; the same commands serve your own model"
