"""The worker's layers give transformers' loss, logits and gradients on models that transformers wrote."""
import pathlib
import re
import tempfile
import unittest

import torch
from safetensors.torch import load_file

import support

TOLERANCE = 1e-4
SAMPLES, LENGTH = 3, 24
TOKENS = torch.randint(0, 256, (SAMPLES, LENGTH), generator=torch.Generator().manual_seed(1))


def reference(model):
    """Loss, logits and gradients by name, as transformers computes them."""
    logits = model(TOKENS).logits
    loss = support.next_token_loss(logits, TOKENS)
    loss.backward()
    found = {"loss": loss.detach().reshape(1), "logits": logits.detach()}
    found.update({f"grad.{name}": weight.grad for name, weight in model.named_parameters()})
    return found


def from_worker(folder):
    """The same, as ppplan-worker computes them from the files in the folder."""
    folder = pathlib.Path(folder)
    document, lines, out = folder / "model.yaml", folder / "tokens.txt", folder / "out.safetensors"
    document.write_text(support.ppplan("inspect", folder, "--document"))
    lines.write_text("".join(" ".join(map(str, sample)) + "\n" for sample in TOKENS.tolist()))
    support.worker("check", document, "--weights", folder, "--tokens", lines, "--out", out)
    return load_file(out)


def error(found, expected):
    """The larger of the relative errors in the Euclidean and in the maximum norm."""
    found, expected = found.double().reshape(expected.shape), expected.double()
    gap = found - expected
    return max((gap.norm() / expected.norm()).item(), (gap.abs().max() / expected.abs().max()).item())


class HfReferenceTest(unittest.TestCase):
    def compare(self, config):
        with tempfile.TemporaryDirectory() as folder:
            expected, found = reference(support.make_model(config, folder)), from_worker(folder)
        self.assertEqual(sorted(found), sorted(expected))
        worst = {}
        for name, tensor in expected.items():
            kind = re.sub(r"\.\d+\.", ".*.", name)
            worst[kind] = max(worst.get(kind, 0.0), error(found[name], tensor))
        for kind, relative in worst.items():
            print(f"  {relative:8.1e}  {kind}")
        self.assertLessEqual(max(worst.values()), TOLERANCE, max(worst, key=worst.get))

    def test_equal_to_transformers(self):
        for name, config in support.CONFIGS.items():
            with self.subTest(name):
                print(f"{name}\n  relative error (worst layer)")
                self.compare(config)

    def test_weights_in_several_files(self):
        with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as parts:
            model = support.make_model(support.CONFIGS["qwen2"], whole)
            model.save_pretrained(parts, max_shard_size="20KB")
            self.assertGreater(len(list(pathlib.Path(parts).glob("*.safetensors"))), 1)
            self.assertEqual(from_worker(parts)["loss"].item(), from_worker(whole)["loss"].item())

    def test_weights_named_as_in_the_model_without_head(self):
        with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as base:
            model = support.make_model(support.CONFIGS["gpt2"], whole)
            model.base_model.save_pretrained(base)
            self.assertEqual(from_worker(base)["loss"].item(), from_worker(whole)["loss"].item())


if __name__ == "__main__":
    unittest.main(verbosity=2)
