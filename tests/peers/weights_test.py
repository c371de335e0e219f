"""'ppplan run --weights' starts from the weights that transformers wrote: the first loss is transformers' loss."""
import json
import pathlib
import tempfile
import unittest

import torch

import support

SEQUENCE = 32


class WeightsTest(unittest.TestCase):
    def first_loss(self, folder, text):
        """Of a run of two stages on that text."""
        profile, plan, data = folder / "profile.yaml", folder / "plan.yaml", folder / "text"
        data.write_bytes(text)
        support.ppplan("profile", folder, "-o", profile, *support.quick_profile(SEQUENCE, micro_batches="2", workers=2))
        support.ppplan("partition", profile, "--stages", 2, "--global-batch", 6, "--micro-batch", 2, "-o", plan)
        report = support.ppplan("run", plan, "-o", folder / "run", "--steps", 1, "--warmup", 0, "--data", data, "--weights",
                                folder, "--json")
        return json.loads(report)["losses"][0]

    def test_first_loss_is_transformers(self):
        # A text of one sequence and one byte more leaves one place where a sample can start.
        text = torch.randint(0, 256, (1, SEQUENCE + 1), generator=torch.Generator().manual_seed(3))
        for name in ("llama, tied", "qwen3", "gpt2"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                model = support.make_model(support.CONFIGS[name], folder)
                expected = support.next_token_loss(model(text).logits, text).item()
                found = self.first_loss(pathlib.Path(folder), bytes(text[0].tolist()))
                print(f"{name}: {found}, transformers {expected}")
                self.assertAlmostEqual(found / expected, 1.0, delta=1e-5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
