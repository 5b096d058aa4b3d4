"""From a panel to batches of windows: gathered by index, whole batches at a time, without copies of the history.

B batch, T time step of the context, H horizon, S series.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from lightning.pytorch import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from forecast.frame import FrameError, Panel
from forecast.history import last_rows
from forecast.origins import origins_of

# values (B, T + H), NaN where nothing can be read; observed (B, T + H), what counts; cutoffs (B,), the ordinals of the
# last context steps
Batch = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class WindowIndex:
    """All windows of a panel as numbers 0..len-1, by arithmetic: no list of them exists.

    The windows of series s end their context at `first[s]`, `first[s] + 1`, ... (flat rows), `counts[s]` of them.
    """

    first: np.ndarray  # (S,)
    counts: np.ndarray  # (S,)

    def __len__(self) -> int:
        return int(self.counts.sum())

    def locate(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the series and the flat row of the last context step of each window."""
        ends = np.cumsum(self.counts)
        series = np.searchsorted(ends, numbers, side="right")
        return series, self.first[series] + numbers - (ends - self.counts)[series]


class Windows:
    """Gathers windows of a panel as tensors over the panel's own arrays."""

    def __init__(self, panel: Panel, context_length: int, horizon: int):
        self.values = torch.from_numpy(panel.values)
        self.observed = torch.from_numpy(panel.observed)
        self.starts = torch.from_numpy(panel.starts)
        self.stops = torch.from_numpy(panel.stops)
        self.first = torch.from_numpy(panel.first)
        self.around = torch.arange(1 - context_length, horizon + 1)  # steps relative to the last of the context

    def gather(self, series: np.ndarray, last: np.ndarray) -> Batch:
        """Give the windows whose context ends at flat rows `last`; steps outside the series read as missing."""
        which, cutoffs = torch.from_numpy(series), torch.from_numpy(last)
        rows = cutoffs[:, None] + self.around  # (B, T + H)
        inside = (rows >= self.starts[which, None]) & (rows < self.stops[which, None])
        rows.clamp_(0, len(self.values) - 1)
        values = torch.where(inside, self.values[rows], torch.nan)
        return values, inside & self.observed[rows], cutoffs - self.starts[which] + self.first[which]


class RandomBatches(IterableDataset):
    """An endless supply of ready batches drawn at random; each call of `iter` goes on where the last one was."""

    def __init__(self, windows: Windows, index: WindowIndex, batch_size: int, batches: int, seed: int):
        self.windows = windows
        self.index = index
        self.batch_size = batch_size
        self.batches = batches
        self.generator = np.random.default_rng(seed)

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[Batch]:
        for _ in range(self.batches):
            yield self.windows.gather(
                *self.index.locate(self.generator.integers(len(self.index), size=self.batch_size))
            )


class FixedBatches(IterableDataset):
    """The same windows in the same order every time, none left out."""

    def __init__(self, windows: Windows, index: WindowIndex, numbers: np.ndarray, batch_size: int):
        self.windows = windows
        self.index = index
        self.numbers = numbers
        self.batch_size = batch_size

    def __len__(self) -> int:
        return -(-len(self.numbers) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        for low in range(0, len(self.numbers), self.batch_size):
            yield self.windows.gather(*self.index.locate(self.numbers[low : low + self.batch_size]))


class WindowDataModule(LightningDataModule):
    """Training and validation windows of a panel.

    Labels of training windows end before the last `validation_length` steps up to the last value; labels of validation
    windows lie behind, while their contexts may reach back before. A validation length of 0 leaves no validation.

    Parameters
    ----------
    panel: what may be used, up to and including the cutoff.
    context_length, horizon: T and H of a window; where a series is shorter, the context is missing on the left.
    patch_length: series too short for a whole context give that many windows, so that every phase of a patch occurs.
    batch_size: windows in a training batch.
    batches: training batches that make an epoch.
    validation_length: steps of the calendar kept for validation.
    seed: of the order in which windows are drawn.

    """

    most_validation_windows = 1024

    def __init__(
        self,
        panel: Panel,
        *,
        context_length: int,
        horizon: int,
        patch_length: int,
        batch_size: int,
        batches: int,
        validation_length: int,
        seed: int,
    ):
        super().__init__()
        self.windows = Windows(panel, context_length, horizon)
        self.batch_size = batch_size
        self.batches = batches
        self.seed = seed
        # Rows at the end that hold no value yet would be no validation.
        last = panel.first + last_rows(panel, origins_of(panel)) - panel.starts
        split = int(last.max()) - validation_length  # last ordinal of a training label
        self.training = _training_index(panel, context_length, horizon, patch_length, split)
        self.validation = _validation_index(panel, horizon, split)
        if len(self.training) == 0:
            which = int(panel.lengths.argmax())
            raise FrameError(
                f"series {panel.id_of(which)!r}, the longest, has {panel.lengths[which]} rows, of which the last "
                f"{validation_length} are for validation; a horizon of {horizon} needs at least {horizon + 1} rows "
                "before them: give longer series, a shorter `horizon`, or no validation"
            )

    def train_dataloader(self) -> DataLoader:
        """Give the training batches of one epoch after another."""
        batches = RandomBatches(self.windows, self.training, self.batch_size, self.batches, self.seed)
        return DataLoader(batches, batch_size=None, num_workers=0)

    def val_dataloader(self) -> DataLoader | list:
        """Give the validation batches; evenly spread over all validation windows where these are very many."""
        total = len(self.validation)
        if total == 0:
            return []
        numbers = np.unique(np.linspace(0, total - 1, min(total, self.most_validation_windows)).astype("int64"))
        return DataLoader(FixedBatches(self.windows, self.validation, numbers, 512), batch_size=None, num_workers=0)


def _training_index(panel: Panel, context_length: int, horizon: int, patch_length: int, split: int) -> WindowIndex:
    rows = np.minimum(panel.lengths, split + 1 - panel.first)  # rows of each series up to the split
    last = rows - horizon - 1  # position of the last context step whose labels all lie before the split
    first = np.maximum(np.minimum(context_length - 1, last - patch_length + 1), 0)
    return WindowIndex(panel.starts + first, np.maximum(last - first + 1, 0))


def _validation_index(panel: Panel, horizon: int, split: int) -> WindowIndex:
    first = np.maximum(split - panel.first, 0)
    last = panel.lengths - horizon - 1
    begun = split >= panel.first  # a series that begins later has nothing to read before its labels
    return WindowIndex(panel.starts + first, np.where(begun, np.maximum(last - first + 1, 0), 0))
