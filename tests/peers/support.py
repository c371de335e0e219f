"""What the tests against PyTorch and transformers share: the built programs, tiny models, launching."""
import os
import pathlib
import subprocess
import sys

import torch
import transformers
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config

transformers.utils.logging.disable_progress_bar()

PATIENCE_S = 600  # a program that takes longer hangs; most of the time is four Pythons loading torch

_SMALL = dict(vocab_size=256, hidden_size=32, intermediate_size=56, num_hidden_layers=3, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=64)
_LLAMA3_ROPE = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 16}

# One tiny configuration for each thing a family does differently.
CONFIGS = {
    "llama, grouped heads": LlamaConfig(**_SMALL, tie_word_embeddings=False),
    "llama, tied": LlamaConfig(**_SMALL, tie_word_embeddings=True),
    "llama, head_dim 12": LlamaConfig(**_SMALL, head_dim=12),
    "llama, biases": LlamaConfig(**_SMALL, attention_bias=True, mlp_bias=True),
    "llama, llama3 rope": LlamaConfig(**_SMALL, rope_parameters=_LLAMA3_ROPE),
    "qwen2": Qwen2Config(**_SMALL, tie_word_embeddings=True),
    "qwen2, window in one layer": Qwen2Config(**_SMALL, use_sliding_window=True, sliding_window=7, max_window_layers=2),
    "qwen3": Qwen3Config(**_SMALL, head_dim=16),
    "mistral": MistralConfig(**_SMALL, sliding_window=None),
    "mistral, window 7": MistralConfig(**_SMALL, sliding_window=7),
    "gpt2": GPT2Config(vocab_size=256, n_positions=64, n_embd=32, n_layer=3, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0,
                       attn_pdrop=0.0, bos_token_id=None, eos_token_id=None),
}


def make_model(config, folder):
    """A model with every parameter random (no bias 0, no norm 1), saved in the folder as transformers does."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                weight.normal_(std=0.1)
            else:
                weight.normal_(mean=0.0 if name.endswith("bias") else 1.0, std=0.2)
    model.save_pretrained(folder)
    return model


def next_token_loss(logits, tokens):
    """Mean cross-entropy of each token but the first, given those before it."""
    return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def run(*command, expect=(0,), **options):
    """Runs a program and returns its standard output; any exit code that is not expected fails the test."""
    command = [str(word) for word in command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            output, errors = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.terminate()  # not killed: launchers stop their processes first
            output, errors = process.communicate()
            raise AssertionError(f"{' '.join(command)}\nno end after {PATIENCE_S} s\n{output}{errors}") from None
    if process.returncode not in expect:
        raise AssertionError(f"{' '.join(command)}\nexit code {process.returncode}\n{output}{errors}")
    return output


def ppplan(*arguments, **options):
    return run(os.environ["PPPLAN"], *arguments, **options)


def worker(*arguments, **options):
    return run(os.environ["PPPLAN_WORKER"], *arguments, **options)


def quick_profile(sequence, micro_batches, workers):
    """Options of 'ppplan profile' for a plan whose times do not matter."""
    return ["--sequence-lengths", sequence, "--micro-batches", micro_batches, "--workers", workers, "--threads", 1,
            "--target-spread", 0.5, "--row-budget", 0.05]


def torchrun(process_count, script, *arguments, **options):
    """Runs a script in that many processes on this machine, over a free port of the loopback."""
    loopback = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1"]
    return run(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", process_count, *loopback, pathlib.Path(script),
               *arguments, env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"}, **options)
