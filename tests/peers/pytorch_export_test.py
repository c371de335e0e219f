"""PyTorch trains what 'ppplan export --to pytorch' writes, with the single process's losses."""
import json
import pathlib
import re
import tempfile
import unittest

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe, SplitPoint, pipeline
from transformers import AutoModelForCausalLM, LlamaConfig

import support

STEPS, SEQUENCE, LEARNING_RATE = 3, 32, 1e-2
CONFIG = dict(vocab_size=256, hidden_size=32, intermediate_size=56, num_hidden_layers=6, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=64)


def single_process_losses(folder, text, batch):
    """The losses of a plain training loop on the same bytes."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    samples = torch.frombuffer(bytearray(text), dtype=torch.uint8).long()[: STEPS * batch * (SEQUENCE + 1)]
    losses = []
    for tokens in samples.view(STEPS, batch, SEQUENCE + 1):
        loss = support.next_token_loss(model(tokens).logits, tokens)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def free_transfers(profile):
    """The profile with links that cost nothing: else plans of layers this small leave stages empty."""
    profile = re.sub(r"latency_s: \S+", "latency_s: 0.0", profile)
    return re.sub(r"bandwidth_bytes_per_s: \S+", "bandwidth_bytes_per_s: 1.0e+15", profile)


class PytorchExportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for name in ("tied", "untied"):
            support.make_model(LlamaConfig(**CONFIG, tie_word_embeddings=name == "tied"), cls.folder / name)
            profile = cls.folder / f"{name}.yaml"
            support.ppplan("profile", cls.folder / name, "-o", profile,
                           *support.quick_profile(SEQUENCE, micro_batches="1,2,3", workers=4))
            profile.write_text(free_transfers(profile.read_text()))
        cls.text = bytes(torch.randint(0, 256, (20000,), dtype=torch.uint8, generator=torch.Generator().manual_seed(2)))
        (cls.folder / "text").write_bytes(cls.text)

    def plan(self, model, stages, schedule, batch, micro_batch):
        """A plan's path."""
        plan = self.folder / f"{model}-{stages}-{schedule}-{batch}-{micro_batch}.plan.yaml"
        support.ppplan("partition", self.folder / f"{model}.yaml", "--stages", stages, "--schedule", schedule, "--global-batch",
                       batch, "--micro-batch", micro_batch, "-o", plan)
        return plan

    def export(self, plan):
        folder = plan.with_suffix(".export")
        support.ppplan("export", plan, "--to", "pytorch", "-o", folder)
        return folder

    def check_training(self, model, stages, schedule, batch, micro_batch):
        exported = self.export(self.plan(model, stages, schedule, batch, micro_batch))
        output = support.torchrun(stages, exported / "train.py", "--config", self.folder / model, "--weights", self.folder / model,
                                  "--data", self.folder / "text", "--steps", STEPS, "--learning-rate", LEARNING_RATE)
        losses = [float(loss) for loss in re.findall(r"^step \d+ loss (\S+)", output, re.M)]
        expected = single_process_losses(self.folder / model, self.text, batch)
        print(f"{model}, {stages} processes, {schedule}, {batch // micro_batch} micro-batches: {losses}, alone {expected}")
        self.assertEqual(len(losses), STEPS)
        for loss, alone in zip(losses, expected):
            self.assertAlmostEqual(loss / alone, 1.0, delta=1e-5)

    def test_trains_as_a_single_process(self):
        for model, stages, schedule, batch, micro_batch in (
                ("tied", 4, "1f1b", 8, 1), ("untied", 4, "gpipe", 8, 1), ("untied", 4, "1f1b", 6, 2), ("tied", 2, "gpipe", 9, 3)):
            with self.subTest(model=model, stages=stages, schedule=schedule, batch=batch, micro_batch=micro_batch):
                self.check_training(model, stages, schedule, batch, micro_batch)

    def test_pipeline_cuts_at_the_split_points(self):
        exported = self.export(self.plan("untied", 4, "1f1b", 8, 1))
        points = json.loads((exported / "split_points.json").read_text())
        model = AutoModelForCausalLM.from_pretrained(self.folder / "untied", use_cache=False)
        pipe = pipeline(model, (torch.zeros(1, SEQUENCE, dtype=torch.long),),
                        split_spec={name: SplitPoint[point] for name, point in points.items()})
        parts = json.loads((exported / "plan.json").read_text())["module_fqns_per_model_part"]
        self.assertEqual(pipe.num_stages, len(parts))
        for stage, modules in enumerate(parts):
            expected = [name for name, _ in model.named_parameters() if any(name.startswith(f"{m}.") for m in modules)]
            self.assertEqual(sorted(name for name, _ in pipe.get_stage_module(stage).named_parameters()), sorted(expected))

    def test_uneven_micro_batches_are_refused_as_pytorch_does(self):
        plan = self.plan("untied", 2, "gpipe", 8, 3)
        folder = self.folder / "uneven"
        support.ppplan("export", plan, "--to", "pytorch", "-o", folder, expect=(2,))
        self.assertFalse(folder.exists())
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)
        stage = PipelineStage(torch.nn.Linear(4, 4), 0, 1, torch.device("cpu"))
        schedule = ScheduleGPipe(stage, 3, loss_fn=torch.nn.functional.mse_loss)
        with self.assertRaisesRegex(RuntimeError, "shape mismatch"):
            schedule.step(torch.zeros(8, 4), target=torch.zeros(8, 4))


if __name__ == "__main__":
    unittest.main(verbosity=2)
