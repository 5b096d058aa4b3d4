"""From a panel to batches of windows: gathered by index, whole batches at a time, without copies of the history.

B batch, T time step of the context, H horizon, S series, C columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from lightning.pytorch import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from forecast.encoding import Encoded, Encoding
from forecast.frame import FrameError, Panel
from forecast.history import last_rows
from forecast.nn.covariates import Covariates
from forecast.origins import Origins, origins_of


class Batch(NamedTuple):
    """Windows of a context and what came after.

    Attributes
    ----------
    values: (B, T + H), NaN where nothing can be read.
    counted: (B, T + H), how much each value counts in a loss; 0 for what was not observed.
    cutoffs: (B,), calendar ordinals of the last context steps.
    covariates: past ones (B, T, C), known ones (B, T + H, C), static ones (B, C); None where none are read.

    """

    values: Tensor
    counted: Tensor
    cutoffs: Tensor
    covariates: Covariates | None

    def parts(self, count: int) -> "list[Batch]":
        """Give so many smaller batches."""
        size = len(self.values) // count
        parts = []
        for low in range(0, count * size, size):
            which = slice(low, low + size)
            values, counted, cutoffs = (x[which] for x in self[:3])
            parts.append(Batch(values, counted, cutoffs, self.covariates and self.covariates.rows(which)))
        return parts


@dataclass(frozen=True)
class WindowIndex:
    """All windows of a panel as numbers 0..len-1, by arithmetic: no list of them exists.

    The windows of series s end their context at `first[s]`, `first[s] + 1`, ... (flat rows), `counts[s]` of them.
    """

    first: np.ndarray  # (S,)
    counts: np.ndarray  # (S,)
    group = 1  # windows to a number

    def __len__(self) -> int:
        return int(self.counts.sum())

    def locate(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the series and the flat row of the last context step of each window."""
        ends = np.cumsum(self.counts)
        series = np.searchsorted(ends, numbers, side="right")
        return series, self.first[series] + numbers - (ends - self.counts)[series]


@dataclass(frozen=True)
class GroupIndex:
    """Groups of windows as numbers 0..len-1: each holds one window of every series, all up to the same cutoff.

    Group 0 is that of the calendar ordinal `begin`, the next one that of the next step, `count` of them.
    """

    panel: Panel
    begin: int
    count: int

    def __len__(self) -> int:
        return self.count

    @property
    def group(self) -> int:
        """How many windows a group has."""
        return len(self.panel)

    def locate(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the series and the flat row of the last context step of each window, group after group."""
        return _groups_at(self.panel, self.begin + numbers)


def _groups_at(panel: Panel, cutoffs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give every series at each of the cutoffs (ordinals), and its flat row there, which may lie outside of it."""
    rows = panel.starts - panel.first + cutoffs[:, None]  # (groups, S)
    return np.tile(np.arange(len(panel)), len(cutoffs)), rows.ravel()


class Windows:
    """Gathers windows of a panel as tensors over the panel's own arrays, and the covariates that `encoding` names.

    `places` are the series' places in the panel whose covariates are `encoded`, -1 for none; None: it is this panel.
    Covariates are given for `ahead` steps after the context; None for the horizon.
    """

    def __init__(
        self,
        panel: Panel,
        context_length: int,
        horizon: int,
        encoding: Encoding | None = None,
        encoded: Encoded | None = None,
        places: np.ndarray | None = None,
        ahead: int | None = None,
    ):
        self.context_length = context_length
        self.ahead = horizon if ahead is None else ahead
        self.encoded = encoded or (encoding and Encoded(panel, encoding))
        self.places = None if places is None else torch.from_numpy(places)
        self.weights = None if panel.weights is None else torch.from_numpy(_evened(panel))
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
        counted = (inside & self.observed[rows]).to(values.dtype)
        if self.weights is not None:
            counted *= self.weights[rows]
        cutoffs = cutoffs - self.starts[which] + self.first[which]
        covariates = None
        if self.encoded is not None:
            places = which if self.places is None else self.places[which]
            covariates = self.encoded.gather(places, cutoffs, self.context_length, self.ahead)
        return Batch(values, counted, cutoffs, covariates)


def _evened(panel: Panel) -> np.ndarray:
    """Give the weights with a mean of 1 over what was observed: what counts is how they differ."""
    assert panel.weights is not None
    rows = [slice(start, stop) for start, stop in zip(panel.starts, panel.stops, strict=True)]
    total = sum(float(panel.weights[part][panel.observed[part]].sum(dtype="float64")) for part in rows)
    count = sum(int(panel.observed[part].sum()) for part in rows)
    return (panel.weights * (count / total) if total else panel.weights).astype("float32")


@dataclass(frozen=True)
class Asked:
    """Windows to forecast from, and whose forecasts they are.

    Attributes
    ----------
    values, cutoffs, covariates: (B, T), (B,) and those of T + H steps, as of a batch.
    rows: the windows that are asked for, in the order of `origins`; the others are there to be read.
    origins: positions among the origins that were asked.

    """

    values: Tensor
    cutoffs: Tensor
    rows: slice | np.ndarray
    origins: slice | np.ndarray
    covariates: Covariates | None = None


def windows_before(
    panel: Panel,
    origins: Origins,
    context_length: int,
    most: int,
    encoding: Encoding | None = None,
    horizon: int = 0,
) -> Iterator[Asked]:
    """Give the windows that end with the origins, at most `most` at a time.

    With the covariates that `encoding` names, if any, and what is known of them for `horizon` steps ahead.
    """
    windows = Windows(panel, context_length, 0, encoding, ahead=horizon)
    for low in range(0, len(origins), most):
        which = slice(low, low + most)
        batch = windows.gather(origins.series[which], origins.ends[which] - 1)
        yield Asked(batch.values, batch.cutoffs, slice(None), which, batch.covariates)


def groups_before(
    panel: Panel,
    origins: Origins,
    ids: pd.Index,
    context_length: int,
    most: int,
    encoding: Encoding | None = None,
    horizon: int = 0,
) -> Iterator[Asked]:
    """Give, for each cutoff of the origins, the windows of all `ids` in their order: about `most` windows at a time.

    One of `ids` that is not in the panel is missing throughout. Covariates as for `windows_before`.

    Raises
    ------
    FrameError: an origin in a series that is none of `ids`.

    """
    places = ids.get_indexer(panel.ids)[origins.series]
    if (places < 0).any():
        new = panel.id_of(origins.series[int((places < 0).argmax())])
        raise FrameError(
            f"series {new!r} was not there at fit: a network that reads across series forecasts those it was fitted "
            "on. Leave it out, or fit again with it"
        )
    encoded = encoding and Encoded(panel, encoding)
    found = panel.ids.get_indexer(ids)
    panel = _in_order(panel, ids, found)
    windows = Windows(panel, context_length, 0, encoded=encoded, places=found, ahead=horizon)
    cutoffs, groups = np.unique(origins.cutoffs, return_inverse=True)
    order = np.argsort(groups, kind="stable")
    size = max(1, most // len(ids))
    for low in range(0, len(cutoffs), size):
        batch = windows.gather(*_groups_at(panel, cutoffs[low : low + size]))
        which = order[slice(*np.searchsorted(groups[order], [low, low + size]))]
        rows = (groups[which] - low) * len(ids) + places[which]
        yield Asked(batch.values, batch.cutoffs, rows, which, batch.covariates)


def _in_order(panel: Panel, ids: pd.Index, found: np.ndarray) -> Panel:
    """Give the panel of `ids`, found at places of it, over the same arrays; one of place -1 has no rows."""
    here = found >= 0
    starts, stops, first = (np.where(here, x[found], 0) for x in (panel.starts, panel.stops, panel.first))
    return replace(panel, starts=starts, stops=stops, first=first, ids=ids, covariates=None)


class RandomBatches(IterableDataset):
    """An endless supply of ready batches drawn at random; each call of `iter` goes on where the last one was."""

    def __init__(self, windows: Windows, index: WindowIndex | GroupIndex, batch_size: int, batches: int, seed: int):
        self.windows = windows
        self.index = index
        self.batch_size = batch_size
        self.batches = batches
        self.generator = np.random.default_rng(seed)

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[Batch]:
        size = self.batch_size // self.index.group
        for _ in range(self.batches):
            yield self.windows.gather(*self.index.locate(self.generator.integers(len(self.index), size=size)))


class FixedBatches(IterableDataset):
    """The same windows in the same order every time, none left out."""

    def __init__(self, windows: Windows, index: WindowIndex | GroupIndex, numbers: np.ndarray, batch_size: int):
        self.windows = windows
        self.index = index
        self.numbers = numbers
        self.size = max(1, batch_size // index.group)

    def __len__(self) -> int:
        return -(-len(self.numbers) // self.size)

    def __iter__(self) -> Iterator[Batch]:
        for low in range(0, len(self.numbers), self.size):
            yield self.windows.gather(*self.index.locate(self.numbers[low : low + self.size]))


class WindowDataModule(LightningDataModule):
    """Training and validation windows of a panel.

    Labels of training windows end before the last `validation_length` steps up to the last value; labels of validation
    windows lie behind, while their contexts may reach back before. A validation length of 0 leaves no validation.

    Parameters
    ----------
    panel: what may be used, up to and including the cutoff.
    context_length, horizon: T and H of a window; where a series is shorter, the context is missing on the left.
    patch_length: series too short for a whole context give that many windows, so that every phase of a patch occurs.
    batch_size: windows in a training batch; whole groups where windows come in groups.
    batches: training batches that make an epoch.
    validation_length: steps of the calendar kept for validation.
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
        validation_length: int,
        seed: int,
        across_series: bool = False,
        encoding: Encoding | None = None,
    ):
        super().__init__()
        self.windows = Windows(panel, context_length, horizon, encoding)
        self.batch_size = batch_size
        self.batches = batches
        self.seed = seed
        # Rows at the end that hold no value yet would be no validation.
        last = panel.first + last_rows(panel, origins_of(panel)) - panel.starts
        split = int(last.max()) - validation_length  # last ordinal of a training label
        training = _training_index(panel, context_length, horizon, patch_length, split)
        validation = _validation_index(panel, horizon, split)
        self.training, self.validation = (
            _together(panel, index) if across_series else index for index in (training, validation)
        )
        if len(training) == 0:
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
        most = max(1, self.most_validation_windows // self.validation.group)
        numbers = np.unique(np.linspace(0, total - 1, min(total, most)).astype("int64"))
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


def _together(panel: Panel, index: WindowIndex) -> GroupIndex:
    """Give the groups at all cutoffs from the first to the last at which any series has a window of its own."""
    first, some = index.first - panel.starts + panel.first, index.counts > 0  # ordinals
    if not some.any():
        return GroupIndex(panel, 0, 0)
    begin, end = int(first[some].min()), int((first + index.counts)[some].max())
    return GroupIndex(panel, begin, end - begin)
