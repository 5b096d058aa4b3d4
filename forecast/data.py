"""From a panel to batches of windows: which windows train and which validate, whole batches at a time.

S series.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from lightning.pytorch import LightningDataModule
from torch.utils.data import DataLoader, IterableDataset

from forecast.encoding import Encoding
from forecast.frame import FrameError, Panel
from forecast.history import last_to_train
from forecast.origins import scattered
from forecast.windows import Batch, GroupIndex, WindowIndex, Windows


@dataclass(frozen=True)
class Shard:
    """What one of `world_size` processes takes of every batch: the shards of all are the batch, and none overlap.

    They are equal in size but for one window, or group. Where there are fewer of these than processes, some read one
    that does not count, since every process has to make every step.
    """

    rank: int = 0
    world_size: int = 1

    def of(self, numbers: np.ndarray) -> np.ndarray:
        """Give the shard of numbers (..., n), cut along the last axis."""
        low, high = (numbers.shape[-1] * rank // self.world_size for rank in (self.rank, self.rank + 1))
        return numbers[..., low:high]

    def gather(self, windows: Windows, index: WindowIndex | GroupIndex, numbers: np.ndarray) -> Batch:
        """Give the windows of the shard of numbers."""
        own = self.of(numbers)
        batch = windows.gather(*index.locate((own if own.size else numbers[..., :1]).ravel()))
        return batch if own.size else batch._replace(counted=torch.zeros_like(batch.counted))


class RandomBatches(IterableDataset):
    """An endless supply of ready batches drawn at random; each call of `iter` goes on where the last one was.

    A batch holds windows for `steps` steps, one after another. All processes draw the same, and each has its shard of
    every step.
    """

    def __init__(
        self,
        windows: Windows,
        index: WindowIndex | GroupIndex,
        batch_size: int,
        batches: int,
        seed: int,
        steps: int = 1,
        shard: Shard = Shard(),
    ):
        self.windows = windows
        self.index = index
        self.batch_size = batch_size
        self.batches = batches
        self.generator = np.random.default_rng(seed)
        self.steps = steps
        self.shard = shard

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[Batch]:
        size = self.batch_size // self.index.group
        for _ in range(self.batches):
            numbers = self.generator.integers(len(self.index), size=size).reshape(self.steps, -1)
            yield self.shard.gather(self.windows, self.index, numbers)


class FixedBatches(IterableDataset):
    """The same windows in the same order every time, none left out; of each batch the shard of a process."""

    def __init__(
        self,
        windows: Windows,
        index: WindowIndex | GroupIndex,
        numbers: np.ndarray,
        batch_size: int,
        shard: Shard = Shard(),
    ):
        self.windows = windows
        self.index = index
        self.numbers = numbers
        self.size = max(1, batch_size // index.group)
        self.shard = shard

    def __len__(self) -> int:
        return -(-len(self.numbers) // self.size)

    def __iter__(self) -> Iterator[Batch]:
        for low in range(0, len(self.numbers), self.size):
            yield self.shard.gather(self.windows, self.index, self.numbers[low : low + self.size])

    def windows_in(self, batch: int) -> int:
        """Give how many windows a batch has, all shards together."""
        return len(self.numbers[batch * self.size : (batch + 1) * self.size]) * self.index.group


class WindowDataModule(LightningDataModule):
    """Training and validation windows of a panel.

    Labels of training windows end `embargo` steps before the last `validation_length` steps up to the last value;
    labels of validation windows lie within these, while their contexts may reach back before. A validation length of 0
    leaves no validation.

    Parameters
    ----------
    panel: what may be used, up to and including the cutoff.
    context_length, horizon: T and H of a window; where a series is shorter, the context is missing on the left.
    patch_length: series too short for a whole context give that many windows, so that every phase of a patch occurs.
    batch_size: windows in a training batch, in all processes together; whole groups where windows come in groups.
    batches: training batches that make an epoch.
    steps: optimiser steps to a training batch, each of which all processes share.
    validation_length: steps of the calendar kept for validation.
    embargo: steps of the calendar before these in which no label of training lies.
    seed: of the order in which windows are drawn.
    across_series: give windows in groups, one of every series in the order of the panel, all up to the same cutoff;
        steps outside of a series are missing there.
    encoding: which covariates to give beside the values; None for none.

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
        steps: int = 1,
        validation_length: int,
        embargo: int = 0,
        seed: int,
        across_series: bool = False,
        encoding: Encoding | None = None,
    ):
        super().__init__()
        self.windows = Windows(panel, context_length, horizon, encoding)
        self.batch_size = batch_size
        self.batches = batches
        self.steps = steps
        self.seed = seed
        split = last_to_train(panel, validation_length)
        training = _training_index(panel, context_length, horizon, patch_length, split - embargo)
        validation = _validation_index(panel, horizon, split)
        self.training, self.validation = (
            _together(panel, index) if across_series else index for index in (training, validation)
        )
        if len(training) == 0:
            which = int(panel.lengths.argmax())
            raise FrameError(
                f"series {panel.id_of(which)!r}, the longest, has {panel.lengths[which]} rows, of which the last "
                f"{validation_length} are for validation{f' and {embargo} before them are kept free' * (embargo > 0)}; "
                f"a horizon of {horizon} needs at least {horizon + 1} rows before them: give longer series, a shorter "
                "`horizon`, or no validation"
            )

    def sample(self, most: int) -> Batch:
        """Give at most so many training windows, spread evenly over all of them; whole groups."""
        count = max(1, min(len(self.training), most // self.training.group))
        numbers = np.linspace(0, len(self.training) - 1, count).astype("int64")
        return self.windows.gather(*self.training.locate(numbers))

    def train_dataloader(self) -> DataLoader:
        """Give the training batches of one epoch after another."""
        sizes = self.batch_size, self.batches, self.seed, self.steps
        batches = RandomBatches(self.windows, self.training, *sizes, self._shard())
        return DataLoader(batches, batch_size=None, num_workers=0)

    def val_dataloader(self) -> DataLoader | list:
        """Give the validation batches; evenly spread over all validation windows where these are very many."""
        if len(self.validation) == 0:
            return []
        most = max(1, self.most_validation_windows // self.validation.group)
        numbers = np.unique(np.linspace(0, len(self.validation) - 1, min(len(self.validation), most)).astype("int64"))
        return self._fixed(self.validation, numbers)

    def some_dataloader(self, most: int) -> tuple[DataLoader, np.ndarray]:
        """Give at most so many training windows, once, in step with no season; whole groups. And the series of each."""
        numbers = scattered(len(self.training), max(1, most // self.training.group))
        series, _ = self.training.locate(numbers)
        return self._fixed(self.training, numbers), series

    def _fixed(self, index: WindowIndex | GroupIndex, numbers: np.ndarray) -> DataLoader:
        batches = FixedBatches(self.windows, index, numbers, 512, self._shard())
        return DataLoader(batches, batch_size=None, num_workers=0)

    def _shard(self) -> Shard:
        """Give what this process takes of each batch: all, where no trainer says that there are others."""
        return Shard(self.trainer.global_rank, self.trainer.world_size) if self.trainer else Shard()


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


def _together(panel: Panel, index: WindowIndex) -> GroupIndex:
    """Give the groups at all cutoffs from the first to the last at which any series has a window of its own."""
    first, some = index.first - panel.starts + panel.first, index.counts > 0  # ordinals
    if not some.any():
        return GroupIndex(panel, 0, 0)
    begin, end = int(first[some].min()), int((first + index.counts)[some].max())
    return GroupIndex(panel, begin, end - begin)
