"""How long a frame takes to be ready for training, and how much memory beside it.

    python experiments/benchmarks/window_readiness.py

5,000 series of 1,000 points and one of 1,000,000: frame, door, panel, data module, first batch of 64 windows. The peak
is the resident memory over what the frame held, beside the raw float32 values.
"""

import threading
from pathlib import Path
from time import perf_counter, sleep

import numpy as np
import pandas as pd

from forecast import check_frame
from forecast.data import WindowDataModule


def resident_megabytes() -> float:
    """Give the resident memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/status does not tell the resident memory: run this on Linux")


class Peak:
    """Watches the resident memory while a block runs."""

    def __enter__(self):
        self.base = self.highest = resident_megabytes()
        self.running = True
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self):
        while self.running:
            self.highest = max(self.highest, resident_megabytes())
            sleep(0.001)

    def __exit__(self, *_):
        self.running = False
        self.thread.join()


def frame_of(series: int, length: int) -> pd.DataFrame:
    """Give random series on hours."""
    return pd.DataFrame(
        {
            "unique_id": np.repeat([f"series {i}" for i in range(series)], length),
            "ds": np.tile(pd.date_range("1990-01-01", periods=length, freq="h").to_numpy(), series),
            "y": np.random.default_rng(0).normal(size=series * length),
        }
    )


def first_batch(frame: pd.DataFrame):
    """Give the first training batch of a frame."""
    data = WindowDataModule(
        check_frame(frame),
        context_length=336,
        horizon=24,
        patch_length=24,
        batch_size=64,
        batches=1,
        validation_length=48,
        seed=0,
    )
    return next(iter(data.train_dataloader()))


if __name__ == "__main__":
    first_batch(frame_of(2, 1000))  # imports and first calls
    print(f"{'series':>7} {'length':>9} {'seconds':>8} {'peak MB':>8} {'raw float32 MB':>15} {'ratio':>6}")
    for series, length in ((5_000, 1_000), (1, 1_000_000)):
        frame = frame_of(series, length)
        with Peak() as peak:
            began = perf_counter()
            first_batch(frame)
            seconds = perf_counter() - began
        raw, used = series * length * 4 / 2**20, peak.highest - peak.base
        print(f"{series:>7,} {length:>9,} {seconds:8.2f} {used:8.1f} {raw:15.1f} {used / raw:6.2f}")
