"""Pipeline stages of a Hugging Face causal language model, cut as plan.json says."""
import zlib

import torch
import torch.distributed as dist
from safetensors import safe_open
from torch.distributed.pipelining import PipelineStage
from transformers import AutoConfig, AutoModelForCausalLM


def read_config(path, plan):
    """The model's configuration, cut to the blocks that the plan holds (ppplan profile --layers)."""
    config = AutoConfig.from_pretrained(path)
    blocks = plan["block_count"]
    if config.num_hidden_layers < blocks:
        raise SystemExit(f"{path} has {config.num_hidden_layers} blocks, but the plan cuts {blocks}: another model")
    if config.num_hidden_layers > blocks:
        print(f"note: the plan is of the first {blocks} of {config.num_hidden_layers} blocks; so is this run", flush=True)
        config.num_hidden_layers = blocks
        if getattr(config, "layer_types", None):
            config.layer_types = config.layer_types[:blocks]
    return config


class Absent(torch.nn.Module):
    """Stands where another stage has a module: hands its input on (a position embedding adds nothing)."""

    def __init__(self, module):
        super().__init__()
        self.adds_nothing = isinstance(module, torch.nn.Embedding)

    def forward(self, x, *_, **__):
        return torch.zeros((), device=x.device) if self.adds_nothing else x


class Stage(torch.nn.Module):
    """The model with one stage's modules only: tokens or hidden states in, hidden states or logits out."""

    def __init__(self, plan, index, config, device):
        super().__init__()
        with torch.device("meta"):
            self.model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, plan["dtype"]))
        for part, names in enumerate(plan["module_fqns_per_model_part"]):
            if part != index:
                for name in names:
                    self.model.set_submodule(name, Absent(self.model.get_submodule(name)))
        self.to_empty(device=device).train()
        # A module's random start depends on its name alone, so every split trains the same model. Children
        # come first: some families refine a child's start in its parent.
        for name, module in reversed(list(self.model.named_modules())):
            torch.manual_seed(zlib.crc32(name.encode()))
            self.model._init_weights(module)
        self.argument = "input_ids" if index == 0 else "inputs_embeds"

    def forward(self, x):
        y = self.model(**{self.argument: x}, use_cache=False).logits
        return y.clone() if y._is_view() else y  # PyTorch detaches outputs in place, which views refuse

    def load(self, folder, tied_names):
        """Copies this stage's weights from the folder's *.safetensors; tied ones may be stored once."""
        missing = dict(self.model.named_parameters())
        for path in folder.glob("*.safetensors"):
            with safe_open(path, "pt") as file:
                for name in missing.keys() & set(file.keys()):
                    missing.pop(name).data.copy_(file.get_tensor(name))
        if missing := missing.keys() - tied_names:
            raise SystemExit(f"{folder} lacks {len(missing)} weights, {min(missing)} among them")


class QuietStage(PipelineStage):
    """PyTorch before 2.15 greets neighbouring stages by message even within a rank, which Gloo refuses."""

    def _get_init_p2p_neighbors_ops(self):
        return [op for op in super()._get_init_p2p_neighbors_ops() if op.group_peer != self.group_rank]


def tie(plan, stages):
    """Makes tied weights one tensor within a rank and equal copies across ranks.

    Returns (weight, group) pairs: the weight's gradient must be summed over the group before each update.
    """
    shared = []
    for tied in plan["tied"]:
        owners = [plan["rank_of_stage"][stage] for stage in tied["stages"]]
        group = dist.new_group(sorted(set(owners)))
        weight = None
        for stage, name in zip(tied["stages"], tied["names"]):
            if stage in stages:
                module, _, leaf = name.rpartition(".")
                module = stages[stage].model.get_submodule(module)
                weight = getattr(module, leaf) if weight is None else weight
                setattr(module, leaf, weight)
        if weight is not None:
            dist.broadcast(weight.data, owners[0], group)
            shared.append((weight, group))
    return shared
