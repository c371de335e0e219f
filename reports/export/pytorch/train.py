"""Trains the plan beside this file with torch.distributed.pipelining. README.md says how to launch it."""
import argparse
import json
import os
import pathlib
import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

from hf_stages import QuietStage, Stage, read_config, tie

HERE = pathlib.Path(__file__).resolve().parent

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", required=True, help="config.json of the model, or its folder")
parser.add_argument("--weights", type=pathlib.Path, help="folder of *.safetensors; random weights without it")
parser.add_argument("--data", type=pathlib.Path, default=HERE / "train.py", help="a text, read as bytes")
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--learning-rate", type=float, default=3e-4)


def batch(text, step, plan, device):
    """Tokens and labels [global batch, sequence]: consecutive bytes, the label being the next byte."""
    length = plan["sequence"] + 1
    first = step * plan["global_batch"] * length
    places = torch.arange(first, first + plan["global_batch"] * length) % len(text)
    tokens = torch.frombuffer(text, dtype=torch.uint8)[places].long().view(-1, length).to(device)
    return tokens[:, :-1].contiguous(), tokens[:, 1:]


def main(args):
    plan = json.loads((HERE / "plan.json").read_text())
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    dist.init_process_group("nccl" if on_gpu else "gloo")
    if dist.get_world_size() != plan["rank_count"]:
        raise SystemExit(f"this plan needs {plan['rank_count']} processes, not {dist.get_world_size()}")

    config = read_config(args.config, plan)
    mine = [stage for stage, rank in enumerate(plan["rank_of_stage"]) if rank == dist.get_rank()]
    stages = {stage: Stage(plan, stage, config, device) for stage in mine}
    if args.weights:
        for stage in stages.values():
            stage.load(args.weights, {name for tied in plan["tied"] for name in tied["names"][1:]})
    shared = tie(plan, stages)
    weights = {id(weight): weight for stage in stages.values() for weight in stage.parameters()}
    optimizer = torch.optim.AdamW(weights.values(), lr=args.learning_rate)

    def loss(logits, labels):
        mean = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return mean / plan["micro_batch_count"]

    schedule = _PipelineScheduleRuntime(
        [QuietStage(module, stage, plan["stage_count"], device) for stage, module in stages.items()],
        plan["micro_batch_count"], loss_fn=loss, scale_grads=False)
    schedule._load_csv(HERE / "schedule.csv", format="compute_only")

    text = bytearray(args.data.read_bytes())
    for step in range(args.steps):
        tokens, labels = batch(text, step, plan, device)
        start, losses = time.perf_counter(), []
        optimizer.zero_grad()
        schedule.step(*([tokens] if 0 in stages else []), target=labels, losses=losses, return_outputs=False)
        for weight, group in shared:
            dist.all_reduce(weight.grad, group=group)
        optimizer.step()
        if plan["stage_count"] - 1 in stages:
            seconds = time.perf_counter() - start
            print(f"step {step} loss {sum(losses).item():.7f} time {seconds:.3f} s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(parser.parse_args())
