#!/usr/bin/env python3
"""Other planners beside ppplan on the same chains of layers, in one run, by turns.

    tests/bench/planner/peers.py build/release/ppplan [--rounds N] [--limit SECONDS] [--cache DIR]

Asks each peer and ppplan the same question from the same seconds, and prints medians and ratios whatever they say:
nothing is asserted. A peer's CPU time is that of its function alone, imports and compilation left out; ppplan's is
that of a whole process. `objective` is what the peer minimizes: the slowest stage, or the sum of all stages and
micro-batches - 1 times the slowest. `step` is the simulated 1F1B step of its cut. Both are theirs over ours.

Packages come from the Python package index through pip, are unpacked and not installed, and only the planner's own
functions are taken from them. Of a source package pip runs the part of its setup that states its version.
"""
import argparse
import ast
import importlib.util
import json
import pathlib
import random
import resource
import select
import statistics
import subprocess
import sys
import tarfile
import time
import types
import venv
import zipfile

HERE = pathlib.Path(__file__).resolve()
SHAPES = [(22, 4), (22, 8), (30, 4), (30, 8), (56, 4), (56, 8), (126, 4), (126, 8), (126, 64), (523, 8), (523, 64)]
COSTS = ["random", "transformer"]
MICRO_BATCHES_A_STAGE = 4
TOO_LONG = float("inf")
# Asked first, so that compilation is over when time counts.
WARM_UP = types.SimpleNamespace(times=[0.1] * 4, stages=2, micro_batches=8)
COMPILATION_S = 300

# ---- the peers: each gets seconds by layer and answers with layers by stage -----------------------------------------


def load_functions(file, names, namespace):
    """The named functions of a module, without the module's imports."""
    tree = ast.parse(file.read_text())
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    exec(compile(tree, str(file), "exec"), namespace)
    return namespace


def load_module(file):
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def deepspeed(folder):
    file = next(folder.glob("**/deepspeed/runtime/utils.py"))
    found = load_functions(file, {"partition_balanced", "partition_uniform"}, {})

    def solve(times, stages, _):
        bounds = [int(bound) for bound in found["partition_balanced"](times, stages)]
        return [end - start for start, end in zip(bounds, bounds[1:])]
    return solve


def block_partition(pattern):
    def load(folder):
        module = load_module(next(folder.glob(pattern)))
        return lambda times, stages, _: [len(block) for block in module.solve(times, stages)]
    return load


class NoTimer:
    def start(self):
        pass

    stop = start


def alpa(training_dp, compiled):
    def load(folder):
        import numpy
        jit = __import__("numba").jit(nopython=True) if compiled else lambda function: function
        file = next(folder.glob("alpa/pipeline_parallel/stage_construction.py"))
        found = load_functions(
            file, {"get_optimal_submeshes", "training_dp_impl", "training_dp", "training_dp_impl_2", "training_dp_2"},
            {"np": numpy, "maybe_numba_jit": jit, "timers": lambda _: NoTimer()})

        def solve(times, stages, micro_batches):
            layers = len(times)
            cost = numpy.full((layers, layers, 1, 1), numpy.inf, dtype=numpy.float32)
            for first in range(layers):
                cost[first, first:, 0, 0] = numpy.cumsum(times[first:])
            successors = numpy.full((layers, layers, 1, 1), 4096, dtype=numpy.int32)
            if training_dp == "training_dp":
                _, answer = found[training_dp](layers, stages, micro_batches, ((1, 1),), 1, cost, successors)
            else:
                _, answer = found[training_dp](stages, micro_batches, ((1, 1),), cost, successors)
            return [int(end) - int(start) for (start, end), *_ in answer]

        return solve
    return load


# name: (package, what it minimizes, how it is loaded)
PEERS = {
    "DeepSpeed partition_balanced": ("deepspeed==0.19.8", "bottleneck", deepspeed),
    "torchgpipe blockpartition": ("torchgpipe==0.0.7", "bottleneck",
                                  block_partition("torchgpipe/balance/blockpartition.py")),
    "FairScale blockpartition": ("fairscale==0.4.13", "bottleneck",
                                 block_partition("**/pipe/balance/blockpartition.py")),
    "Alpa training_dp": ("alpa==0.2.3", "latency", alpa("training_dp", False)),
    "Alpa training_dp_2": ("alpa==0.2.3", "latency", alpa("training_dp_2", False)),
    "Alpa training_dp, numba": ("alpa==0.2.3", "latency", alpa("training_dp", True)),
    "Alpa training_dp_2, numba": ("alpa==0.2.3", "latency", alpa("training_dp_2", True)),
}
NOT_HAD = """Not asked. Not in the package index: PipeDream's optimizer, dnn-partitioning, Piper, Aceso, Metis, AMP, rotor (names
like theirs there are other projects); ppplan_graph_bench asks the questions of the first two on their own graphs.
hetu-galvatron is there, but chooses how layers are sharded under a memory limit from profiles of its own, which is
another question than a chain of seconds."""


def serve(name, folder):
    """Answers questions on standard input, one a line."""
    solve = PEERS[name][2](pathlib.Path(folder))
    for line_in in sys.stdin:
        question = json.loads(line_in)
        start = time.process_time()
        counts = solve(question["times"], question["stages"], question["micro_batches"])
        print(json.dumps({"counts": counts, "cpu_s": time.process_time() - start}), flush=True)


# ---- getting them ---------------------------------------------------------------------------------------------------


def python_with_numba(cache):
    python = cache / "env" / "bin" / "python"
    if not (cache / "env.ready").exists():
        venv.create(cache / "env", with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "numpy", "numba", "setuptools", "wheel"], check=True)
        (cache / "env.ready").touch()
    return python


def unpacked(package, python, cache):
    """The folder of a package's files. Raises CalledProcessError where it is not to be had."""
    folder = cache / package
    if (folder / ".ready").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation", "-d", folder, package],
                   check=True, capture_output=True, text=True, timeout=300)
    for file in list(folder.iterdir()):
        if file.suffix == ".whl":
            zipfile.ZipFile(file).extractall(folder)
        elif file.suffixes[-2:] == [".tar", ".gz"]:
            tarfile.open(file).extractall(folder, filter="data")
    (folder / ".ready").touch()
    return folder


def obtain(cache):
    """The peers that could be had."""
    python = python_with_numba(cache)
    found = []
    for name, (package, _, _) in PEERS.items():
        try:
            found.append(Peer(name, python, unpacked(package, python, cache)))
        except (subprocess.SubprocessError, OSError) as error:
            why = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            print(f"{name}: {package} could not be had: {why[-1] if why else error}", file=sys.stderr)
    return found


# ---- questions ------------------------------------------------------------------------------------------------------


def layer_times(costs, layer_count):
    """Seconds of both passes by layer."""
    if costs == "transformer":
        return [0.4e-3] + [3e-3] * (layer_count - 2) + [9e-3]
    chance = random.Random(layer_count)
    weights = [chance.uniform(3, 10) if chance.random() < 0.2 else chance.uniform(0.2, 2) for _ in range(layer_count)]
    return [3e-3 * weight for weight in weights]


def chain_graph(times):
    """The chain as dnn-partitioning states it; transfers are free."""
    nodes = [{"id": layer, "supportedOnFpga": 1, "cpuLatency": 0.0, "fpgaLatency": 1e3 * t, "isBackwardNode": 0,
              "size": 0.0} for layer, t in enumerate(times)]
    edges = [{"sourceId": layer, "destId": layer + 1, "cost": 0.0} for layer in range(len(times) - 1)]
    return json.dumps({"maxSizePerFPGA": 1e12, "maxFPGAs": 1, "maxCPUs": 0, "nodes": nodes, "edges": edges})


def chain_profile(times):
    """The chain as a profile: a third of the time forward, no transfers, memory without end."""
    def timing(seconds):
        return f"{{median_s: {seconds!r}, spread: 0, repeats: 1}}"

    # The least model that there is: what it computes does not matter, only that it is one.
    steps = {"embedding": "{op: embedding, in: [tokens], out: [x], weight: weight}",
             "block": "{op: linear, in: [x], out: [x], weight: weight, in_features: 1, out_features: 1}",
             "head": "{op: linear_cross_entropy, in: [x, labels], out: [loss], weight: weight, in_features: 1, "
                     "vocabulary: 1}"}

    def kind(layer):
        role = "embedding" if layer == 0 else "head" if layer == len(times) - 1 else "block"
        return f"""    - name: kind{layer}
      role: {role}
      parameters:
        - {{name: weight, shape: [1, 1], init: normal}}
      program:
        - {steps[role]}
"""
    kinds = "".join(kind(layer) for layer in range(len(times)))
    devices = "".join(f"  - {{name: device, type: cpu, id: core {device}, memory_bytes: 1099511627776}}\n"
                      for device in range(max(stages for _, stages in SHAPES)))
    layers = "".join(f"    - {{kind: kind{layer}, prefix: layers.{layer}.}}\n" for layer in range(len(times)))
    rows = "".join(
        f"  - {{kind: kind{layer}, micro_batch: 1, sequence: 1, recompute: none, workers: 1, forward: {timing(t / 3)}, "
        f"backward: {timing(t * 2 / 3)}, backward_input: {timing(t / 3)}, backward_weight: {timing(t / 3)}, "
        "recompute_extra_s: 0, saved_bytes: 1, forward_peak_bytes: 1, backward_peak_bytes: 1, "
        "weight_pending_bytes: 1, output_bytes: 0, stable: true}\n" for layer, t in enumerate(times))
    optimizer = "".join(f"  - {{kind: kind{layer}, workers: 1, step: {timing(0)}, parameter_bytes: 4, "
                        "gradient_bytes: 4, optimizer_state_bytes: 8}\n" for layer in range(len(times)))
    return f"""schema: ppplan.profile/1
tool_version: bench
input_sha256: "{'0' * 64}"
origin: measured
model:
  name: chain
  family: llama
  hidden: 1
  vocabulary: 1
  max_sequence: 1
  kinds:
{kinds}  layers:
{layers}devices:
{devices}kernels: {{torch: none, attention: none, blas: none, precision: float32, threads: 1, pinned: false}}
target_spread: 0.03
call_overhead_s: 0
step_overhead_s: 0
measurements:
{rows}optimizer:
{optimizer}links:
  - name: free
    backend: none
    latency_s: 0
    bandwidth_bytes_per_s: 1000000000000
    fit_error: 0
    samples: []
"""


class Question:
    def __init__(self, costs, layer_count, stages, folder):
        self.name = f"{costs} {layer_count} x {stages}"
        self.times = layer_times(costs, layer_count)
        self.stages = stages
        self.micro_batches = MICRO_BATCHES_A_STAGE * stages
        self.graph = folder / f"{costs}-{layer_count}.json"
        self.profile = folder / f"{costs}-{layer_count}.yaml"
        self.graph.write_text(chain_graph(self.times))
        self.profile.write_text(chain_profile(self.times))

    def stage_times(self, counts):
        left = iter(self.times)
        return [sum(next(left) for _ in range(count)) for count in counts]

    def objective(self, what, counts):
        times = self.stage_times(counts)
        return max(times) if what == "bottleneck" else sum(times) + (self.micro_batches - 1) * max(times)


# ---- asking ---------------------------------------------------------------------------------------------------------


def ask_ppplan(ppplan, arguments):
    """Its JSON, and the CPU seconds of the whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([ppplan, "partition", *map(str, arguments), "--json"], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"ppplan partition {' '.join(map(str, arguments))}\n{done.stderr}")
    return json.loads(done.stdout), after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def step_arguments(question, stages, *more):
    return [question.profile, "--stages", stages, "--devices", stages, "--micro-batch", 1, "--global-batch",
            question.micro_batches, "--schedule", "1f1b", "--recompute", "none", *more]


def ours(ppplan, question, what):
    """Layers by stage, and CPU seconds."""
    if what == "latency":
        answer, cpu = ask_ppplan(ppplan, step_arguments(question, question.stages))
        return [stage["layer_count"] for stage in answer["stages"]], cpu
    answer, cpu = ask_ppplan(ppplan, ["--rules", "max-load", "--devices", question.stages, question.graph])
    return [len(stage["nodes"]) for stage in answer["stages"]], cpu


def step_of(ppplan, question, counts):
    answer, _ = ask_ppplan(ppplan, step_arguments(question, len(counts), "--layer-counts",
                                                   ",".join(map(str, counts))))
    return answer["step_s"]


class Peer:
    """A process that answers for a peer, started again after it took too long."""

    def __init__(self, name, python, folder):
        self.name = name
        self.command = [python, HERE, "--serve", name, folder]
        self.what = PEERS[name][1]
        self.process = None

    def ask(self, question, limit):
        """Layers by stage (None: failed, or longer than the limit) and CPU seconds."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True)
            self.ask(WARM_UP, COMPILATION_S)
        asked = {"times": question.times, "stages": question.stages, "micro_batches": question.micro_batches}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answered, _, _ = select.select([self.process.stdout], [], [], limit)
        answer = self.process.stdout.readline() if answered else ""
        if not answer:
            self.stop()
            return None, float("nan") if answered else TOO_LONG
        return tuple(json.loads(answer).values())

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None


# ---- the table ------------------------------------------------------------------------------------------------------


def compare(ppplan, question, peers, given_up, options):
    """Rounds of ppplan and each peer by turns; rows of the table. Whoever took too long for a question is not asked
    larger ones."""
    size = (len(question.times), question.stages)
    rows = []
    best_step = None
    for peer in peers:
        name, what = peer.name, peer.what
        if any(layers <= size[0] and stages <= size[1] for layers, stages in given_up.get(name, [])):
            continue
        our_cpu, their_cpu, counts, our_counts = [], [], None, None
        for _ in range(options.rounds):
            our_counts, cpu = ours(ppplan, question, what)
            our_cpu.append(cpu)
            counts, cpu = peer.ask(question, options.limit)
            their_cpu.append(cpu)
            if counts is None:
                break
        mine = statistics.median(our_cpu)
        if counts is None:
            given_up.setdefault(name, []).append(size)
            state = f"> {options.limit:g}" if their_cpu[-1] == TOO_LONG else "failed"
            rows.append([question.name, name, state, f"{mine:.4f}", f"> {options.limit / mine:.0f}", "", ""])
            continue
        if sum(counts) != len(question.times) or len(counts) > question.stages or min(counts) < 1:
            rows.append([question.name, name, "no cut", f"{mine:.4f}", "", "", f"{counts}"])
            continue
        if best_step is None:
            answer, _ = ask_ppplan(ppplan, step_arguments(question, question.stages))
            best_step = answer["step_s"]
        theirs = statistics.median(their_cpu)
        objective = question.objective(what, counts) / question.objective(what, our_counts)
        step = step_of(ppplan, question, counts) / best_step
        rows.append([question.name, name, f"{theirs:.4f}", f"{mine:.4f}", f"{theirs / mine:.1f}", f"{objective:.4f}",
                     f"{step:.4f}"])
    return rows


HEADINGS = ["question", "peer", "CPU s", "ppplan", "ratio", "objective", "step"]
WIDTHS = [22, 29, 10, 9, 9, 10, 8]


def line(cells):
    return "".join(cell.ljust(width) if index < 2 else cell.rjust(width)
                   for index, (cell, width) in enumerate(zip(cells, WIDTHS)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ppplan")
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--limit", default=60.0, type=float, help="seconds that a peer may take for one question")
    parser.add_argument("--cache", default=pathlib.Path.home() / ".cache" / "ppplan" / "planners", type=pathlib.Path)
    options = parser.parse_args()
    peers = obtain(options.cache)
    folder = options.cache / "questions"
    folder.mkdir(parents=True, exist_ok=True)
    print(line(HEADINGS), flush=True)
    for costs in COSTS:
        given_up = {}
        for layer_count, stages in SHAPES:
            for row in compare(options.ppplan, Question(costs, layer_count, stages, folder), peers, given_up,
                               options):
                print(line(row), flush=True)
    for peer in peers:
        peer.stop()
    print(NOT_HAD)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    else:
        main()
