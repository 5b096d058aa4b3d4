"""Windows of a panel, gathered by index as tensors over the panel's own arrays: no copies of the history.

B batch, T time step of the context, H horizon, S series, C columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from forecast.encoding import Encoded, Encoding
from forecast.frame import FrameError, Panel
from forecast.nn.covariates import Covariates
from forecast.origins import Origins


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
    values, cutoffs, covariates: (B, T), (B,) and those of T + H steps, as of a batch; what is ahead and comes after the
        cutoff is missing.
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
        covariates = batch.covariates and batch.covariates.at_end()
        yield Asked(batch.values, batch.cutoffs, slice(None), which, covariates)


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
        yield Asked(batch.values, batch.cutoffs, rows, which, batch.covariates and batch.covariates.at_end())


def _in_order(panel: Panel, ids: pd.Index, found: np.ndarray) -> Panel:
    """Give the panel of `ids`, found at places of it, over the same arrays; one of place -1 has no rows."""
    here = found >= 0
    starts, stops, first = (np.where(here, x[found], 0) for x in (panel.starts, panel.stops, panel.first))
    return replace(panel, starts=starts, stops=stops, first=first, ids=ids, covariates=None)
