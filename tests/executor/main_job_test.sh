#!/usr/bin/env bash
# The main job with real workers: 4 stages over Gloo for micro-batches that divide the batch and that do
# not, gradients verified; then a rank killed in mid-step.
#   main_job_test.sh FOLDER-OF-PROGRAMS SCRATCH
set -euo pipefail

readonly ppplan=$1/ppplan scratch=$2
rm -rf -- "$scratch"
mkdir -p "$scratch"
cd -- "$scratch"

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

# Process ids of programs whose command line holds the text; procps may not be there.
processes_with() {
  local folder
  for folder in /proc/[0-9]*; do
    if tr '\0' ' ' 2>/dev/null <"$folder/cmdline" | grep -qF -- "$1"; then printf '%s\n' "${folder#/proc/}"; fi
  done
}

cat >config.json <<'JSON'
{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
 "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512,
 "max_position_embeddings": 128, "tie_word_embeddings": true}
JSON
"$ppplan" profile config.json --micro-batches 1,4,8 --sequence-lengths 32 --row-budget 0.1 -o profile.yaml
# Links that cost nothing: layers this small would rather share a stage.
sed -E -i 's/latency_s: [^ ,}]+/latency_s: 0/; s/bandwidth_bytes_per_s: [^ ,}]+/bandwidth_bytes_per_s: 1e15/' profile.yaml

# refused TEXT COMMAND...: the command is refused as bad input, with the text in its message.
refused() {
  local text=$1 code=0
  shift
  "$@" >refused.txt 2>&1 || code=$?
  ((code == 2)) || fail "$*: exit $code, not 2: $(cat refused.txt)"
  grep -qF -- "$text" refused.txt || fail "$*: expected '$text' in: $(cat refused.txt)"
}

for micro_batch in 8 4 3 1; do # 1, 2, 3 (of 3, 3 and 2) and 8 micro-batches
  "$ppplan" partition profile.yaml --stages 4 --global-batch 8 --micro-batch "$micro_batch" --schedule 1f1b \
    -o plan.yaml >/dev/null
  "$ppplan" run plan.yaml --steps 1 --warmup 1 --verify -o run >report.txt || fail "micro-batches of $micro_batch: exit $?"
  grep -q "^gradients: equal" report.txt || fail "micro-batches of $micro_batch: gradients were not compared"
done

mkdir own && cp plan.yaml own && printf 'mine' >own/data.txt
refused "holds other files" "$ppplan" run own/plan.yaml -o own
[[ $(cat own/data.txt) == mine ]] || fail "a file of the user's was written over"
sed 's/^schedule: .*/schedule: 2f2b/' plan.yaml >edited.yaml
refused "edited.yaml: unknown schedule '2f2b'" "$ppplan" run edited.yaml -o edited
[[ ! -e edited ]] || fail "a refused plan left a folder"
refused "that is the profile itself" "$ppplan" partition profile.yaml --global-batch 8 -o profile.yaml
sed -E '0,/first_layer: 0, layer_count: [0-9]+/s//first_layer: 0, layer_count: 0/' plan.yaml >edited.yaml
refused "edited.yaml:" "$ppplan" run edited.yaml -o edited
grep -q "stages\[0\].layer_count: expected at least 1, found 0" refused.txt || fail "an empty first stage: $(cat refused.txt)"
mkfifo pipe
refused "no regular file" "$ppplan" run plan.yaml --data pipe -o edited
refused "found nan" "$ppplan" run plan.yaml --learning-rate nan -o edited
refused "found nan" "$ppplan" profile config.json --row-budget nan -o other.yaml
refused "excludes" "$ppplan" run plan.yaml --verify --no-verify -o edited
refused "found ''" "$ppplan" run plan.yaml -o ''
refused "is empty" "$ppplan" profile config.json -o ''
refused "do not fit" "$ppplan" profile config.json --sequence-lengths 1000000000 -o other.yaml
mkdir -p weights/model.safetensors
refused "no *.safetensors file" "$ppplan" run plan.yaml --steps 1 --weights weights -o edited

"$ppplan" run plan.yaml --steps 100000 --no-verify -o killed 2>killed.txt &
readonly run=$!
for ((attempt = 0; attempt < 300; ++attempt)); do
  victim=$(processes_with "ppplan-worker run $scratch/killed/job.yaml --rank 2")
  if [[ -n $victim ]]; then break; fi
  sleep 0.1
done
[[ -n $victim ]] || fail "no rank 2 to kill"
sleep 3
kill -KILL "$victim"
SECONDS=0
code=0
wait "$run" || code=$?
((code == 1)) || fail "a killed rank: exit $code, not 1"
((SECONDS < 30)) || fail "a killed rank: the others went on for $SECONDS s"
grep -q "rank 2 (stage 2" killed.txt || fail "a killed rank is not named: $(cat killed.txt)"
if [[ -n $(processes_with "$scratch/killed/job.yaml") ]]; then fail "a worker is left behind"; fi
port=$(sed -n 's/^rendezvous:.*port: \([0-9]*\).*/\1/p' killed/job.yaml)
if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then fail "port $port is still held"; fi
printf 'all as it should be\n'
