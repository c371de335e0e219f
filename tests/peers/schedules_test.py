"""PyTorch's own loader takes the schedules that 'ppplan schedule NAME --csv' prints, and finds no deadlock."""
import pathlib
import re
import tempfile
import types
import unittest

from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime, _simulate_comms_compute

import support

SCHEDULES = ("naive", "gpipe", "1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-h2", "interleaved-zero-bubble", "zb-v",
             "v-half", "v-min", "dualpipe-v")
SHAPES = ((1, 1), (2, 1), (2, 4), (4, 3), (4, 8), (4, 32), (8, 16))  # ranks, micro-batches
COMPUTE_AND_TRANSFER = ("F", "B", "I", "W", "SEND_F", "RECV_F", "SEND_B", "RECV_B")


def load(csv, rank_count, stage_count, micro_batch_count):
    """The runtime with the schedule loaded, checked and lowered; stages need not exist for that."""
    stage = types.SimpleNamespace(num_stages=stage_count, group_size=rank_count, group_rank=0)
    runtime = _PipelineScheduleRuntime([stage], micro_batch_count, loss_fn=lambda output, target: output)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "schedule.csv"
        path.write_text(csv)
        runtime._load_csv(path, format="compute_only")
    return runtime


class SchedulesTest(unittest.TestCase):
    def check(self, csv, rank_count, micro_batch_count):
        rows = [re.findall(r"(\d+)([FBIW])(\d+)", row) for row in csv.splitlines()]
        rank_of = {int(stage): rank for rank, row in enumerate(rows) for stage, _, _ in row}
        runtime = load(csv, rank_count, len(rank_of), micro_batch_count)
        self.assertEqual(runtime.stage_index_to_group_rank, rank_of)
        orders = {rank: [part for action in actions for part in (action.sub_actions or (action,))
                         if part.computation_type.value in COMPUTE_AND_TRANSFER]
                  for rank, actions in runtime.pipeline_order_with_comms.items()}
        for row, order in zip(rows, orders.values()):  # its loader is lenient: nothing may have been dropped
            computed = [(str(a.stage_index), a.computation_type.value, str(a.microbatch_index))
                        for a in order if len(a.computation_type.value) == 1]
            self.assertEqual(computed, row)
        _simulate_comms_compute(orders, rank_of.get, len(rank_of))  # raises where ranks would wait for ever

    def test_pytorch_loads_them(self):
        for name in SCHEDULES:
            for rank_count, micro_batch_count in SHAPES:
                with self.subTest(name=name, ranks=rank_count, micro_batches=micro_batch_count):
                    self.check(support.ppplan("schedule", name, "--ranks", rank_count, "--micro-batches", micro_batch_count,
                                              "--csv"), rank_count, micro_batch_count)


if __name__ == "__main__":
    unittest.main(verbosity=2)
