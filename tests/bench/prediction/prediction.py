#!/usr/bin/env python3
"""Predicted beside measured, over models, schedules and micro-batch counts, on this machine.

    tests/bench/prediction/prediction.py build/release/ppplan [--output DIR] [--steps N] [--rounds N]

Profiles each model once, then plans every case and runs each in turn, as many rounds as asked for. Prints one row
a case (the median of its runs) and the errors' median and worst. It judges nothing: the table is the result.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

CONFIGS = pathlib.Path(__file__).resolve().parents[3] / "profiler" / "models" / "configs"
# Cut to as many blocks as two cores train in seconds a step.
MODELS = [("smollm2-135m", 8, 128), ("gpt2", 3, 64)]
SCHEDULES = ["1f1b", "gpipe"]
COUNTS = [2, 4, 8]
MICRO_BATCH = 1


def call(*arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(a) for a in arguments)}\n{done.stderr}")
    return done.stdout


def error(predicted, measured):
    return 100.0 * (predicted - measured) / measured


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ppplan")
    parser.add_argument("--output", default="build/bench/prediction", type=pathlib.Path)
    parser.add_argument("--steps", default=5, type=int)
    parser.add_argument("--rounds", default=1, type=int)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    cases = []
    for model, layers, sequence in MODELS:
        profile = options.output / f"{model}.profile.yaml"
        call(options.ppplan, "profile", CONFIGS / model, "--layers", layers, "--micro-batches", "1,2",
             "--sequence-lengths", sequence, "-o", profile)
        for schedule in SCHEDULES:
            for count in COUNTS:
                plan = options.output / f"{model}.{schedule}.{count}.plan.yaml"
                call(options.ppplan, "partition", profile, "--stages", 2, "--global-batch",
                     MICRO_BATCH * count, "--micro-batch", MICRO_BATCH, "--schedule", schedule, "-o", plan)
                cases.append((model, schedule, count, plan, []))
    for _ in range(options.rounds):
        for model, schedule, count, plan, reports in cases:
            folder = plan.with_suffix(".run")
            reports.append(json.loads(call(options.ppplan, "run", plan, "-o", folder, "--steps",
                                           options.steps, "--no-verify", "--json")))
            print(f"{model} {schedule} {count}: predicted {reports[-1]['predicted_step_s']:.3f} s, measured "
                  f"{reports[-1]['measured_step_s']:.3f} s", file=sys.stderr)
    print(f"{'model':<14}{'schedule':<10}{'micro-batches':>14}{'predicted':>12}{'measured':>12}"
          f"{'error':>9}{'peak memory error, by rank':>30}")
    step_errors, memory_errors = [], []
    for model, schedule, count, plan, reports in cases:
        predicted = reports[0]["predicted_step_s"]
        measured = statistics.median(r["measured_step_s"] for r in reports)
        step_errors.append(error(predicted, measured))
        by_rank = [error(rank["predicted_peak_bytes"], rank["measured_peak_bytes"])
                   for rank in reports[0]["ranks"]]
        memory_errors += by_rank
        print(f"{model:<14}{schedule:<10}{count:>14}{predicted * 1e3:>9.1f} ms{measured * 1e3:>9.1f} ms"
              f"{step_errors[-1]:>+7.1f} %" + " ".join(f"{e:>+9.2f} %" for e in by_rank))
    for what, errors in (("step time", step_errors), ("peak memory", memory_errors)):
        sizes = [abs(e) for e in errors]
        print(f"{what}: median error {statistics.median(sizes):.1f} %, worst {max(sizes):.1f} %")


if __name__ == "__main__":
    main()
