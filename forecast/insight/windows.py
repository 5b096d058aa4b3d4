"""The windows of a fitted network that are looked at. B windows that are read, M that are looked at, T time step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from forecast.forecaster import Forecaster, check_positive
from forecast.frame import FrameError, Panel
from forecast.neural import NeuralForecaster
from forecast.nn import ForecastNetwork
from forecast.nn.covariates import Covariates
from forecast.nn.network import Patches
from forecast.origins import Origins, ordinals_of, origins_of
from forecast.windows import groups_before, windows_before


class MissingPart(ValueError):
    """The network does not have what was to be looked at."""


@dataclass(frozen=True)
class Sample:
    """Windows as a network reads them, and where they come from.

    Attributes
    ----------
    forecaster: whose windows they are.
    panel, origins: M origins in a panel, each the end of a window.
    values: (B, T), NaN where nothing can be read.
    cutoffs: (B,), ordinals of the last steps.
    targets: (M, H), what came after; NaN where that is not known.
    rows: (M,), where in the batch the windows of the origins are; all others are there because those read them.
    covariates: those of the windows, and of the horizon; None where the network reads none.

    """

    forecaster: NeuralForecaster
    panel: Panel
    origins: Origins
    values: Tensor
    cutoffs: Tensor
    targets: Tensor
    rows: Tensor
    covariates: Covariates | None

    def __len__(self) -> int:
        return len(self.origins)

    @property
    def network(self) -> ForecastNetwork:
        """Give the network that reads them."""
        return self.forecaster.network_

    @property
    def ids(self) -> pd.Index:
        """Give the series of each origin, (M,)."""
        return self.panel.ids[self.origins.series]

    @property
    def tokens(self) -> int:
        """Give how many tokens a window has."""
        return self.values.shape[1] // self.network.patch_length

    def patches(self) -> Patches:
        """Give the windows as the network reads them."""
        return self.network.read(self.values, self.cutoffs, self.covariates)

    def token_ordinals(self) -> np.ndarray:
        """Give the ordinals of the tokens' last steps, (M, N)."""
        back = np.arange(1 - self.tokens, 1) * self.network.patch_length
        return self.origins.cutoffs[:, None] + back

    def stamps(self, ordinals: np.ndarray) -> pd.Index:
        """Give the stamps of calendar ordinals of any shape, one after another."""
        places, which = np.unique(ordinals, return_inverse=True)
        return self.panel.calendar.stamps(places)[which.ravel()]

    def parts(self, size: int) -> Iterator["Sample"]:
        """Give the sample in parts of about `size` windows that are read: bounds memory."""
        group = len(self.values) // len(self)
        size = max(1, size // group)
        for low in range(0, len(self), size):
            which = slice(low * group, (low + size) * group)
            yield replace(
                self,
                origins=self.origins.take(slice(low, low + size)),
                values=self.values[which],
                cutoffs=self.cutoffs[which],
                covariates=self.covariates and self.covariates.rows(which),
                targets=self.targets[low : low + size],
                rows=self.rows[low : low + size] - low * group,
            )


def drawn(
    forecaster: Forecaster,
    frame: pd.DataFrame | Panel | None,
    cutoffs: Sequence | None,
    windows: int,
    seed: int,
    ahead: int = 0,
) -> Sample:
    """Give the windows that end at `cutoffs`, of all series, or `windows` others drawn at random with `seed`.

    Those drawn are whole, end with a value that is known, and `ahead` steps follow them; fewer where there are not so
    many. `frame` None stands for that of `fit`.

    Raises
    ------
    NotFittedError: the forecaster is not fitted.
    TypeError: it is no NeuralForecaster.
    FrameError: a frame that may not enter, or in which there is no such window.
    ValueError: `cutoffs` or `windows` that are not allowed.

    """
    check_positive(windows=windows)
    neural, panel = _opened(forecaster, frame)
    if cutoffs is not None:
        return _sample(neural, panel, origins_of(panel, ordinals_of(panel.calendar, cutoffs)))
    return _sample(neural, panel, _drawn(panel, neural.context_length_, windows, seed, ahead))


def ends(
    forecaster: Forecaster,
    frame: pd.DataFrame | Panel | None,
    ids: Sequence | None,
    cutoffs: Sequence | None,
) -> Sample:
    """Give the windows of some series (None: the first) that end at `cutoffs` (None: each series' own end).

    Raises as `drawn`, and ValueError for an id that is not in the frame.
    """
    neural, panel = _opened(forecaster, frame)
    origins = origins_of(panel, None if cutoffs is None else ordinals_of(panel.calendar, cutoffs))
    chosen = [panel.ids[origins.series[0]]] if ids is None else ids
    if isinstance(chosen, str):
        raise TypeError(f"`ids` is {chosen!r}; allowed: a list of ids, such as [{chosen!r}]")
    which = np.isin(origins.series, panel.ids.get_indexer(pd.Index(chosen)))
    for one in chosen:
        if one not in panel.ids[origins.series[which]]:
            raise ValueError(
                f"`ids` holds {one!r}, which has no window there; those that have are "
                f"{', '.join(map(repr, panel.ids[np.unique(origins.series)][:5]))}{', ...' * (len(panel) > 5)}"
            )
    return _sample(neural, panel, origins.take(which))


def _opened(forecaster: Forecaster, frame: pd.DataFrame | Panel | None) -> tuple[NeuralForecaster, Panel]:
    """Give the forecaster as one with a network, and the panel to look at."""
    if not isinstance(forecaster, NeuralForecaster):
        raise TypeError(
            f"`forecaster` is a {type(forecaster).__name__}; allowed: a NeuralForecaster: it has a network to look into"
        )
    return forecaster, forecaster.panel_of(frame)


def _sample(forecaster: NeuralForecaster, panel: Panel, origins: Origins) -> Sample:
    context, parts = forecaster.context_length_, []
    beside = forecaster.encoding_, forecaster.horizon
    for number in range(len(origins)):
        # Origin by origin: series that read each other come with each of them once more, so that what is looked at in
        # one window has nothing of another in it.
        one = origins.take(slice(number, number + 1))
        if forecaster.backbone_.across_series:
            parts += groups_before(panel, one, forecaster.panel_.ids, context, 1, *beside)
        else:
            parts += windows_before(panel, one, context, 1, *beside)
    group = len(parts[0].values)
    rows = [0 if isinstance(part.rows, slice) else int(part.rows[0]) for part in parts]
    targets = panel.at(origins.series[:, None], origins.cutoffs[:, None] + np.arange(1, forecaster.horizon + 1))
    return Sample(
        forecaster=forecaster,
        panel=panel,
        origins=origins,
        values=torch.cat([part.values for part in parts]),
        cutoffs=torch.cat([part.cutoffs for part in parts]),
        covariates=_together([part.covariates for part in parts if part.covariates is not None]),
        targets=torch.from_numpy(targets),
        rows=torch.tensor(rows) + group * torch.arange(len(parts)),
    )


def _together(parts: list[Covariates]) -> Covariates | None:
    if not parts:
        return None
    past, known, static = (torch.cat(one) for one in zip(*(part[:3] for part in parts), strict=True))
    return Covariates(past, known, static)


def _drawn(panel: Panel, context: int, windows: int, seed: int, ahead: int) -> Origins:
    """Draw origins among those that end with a value and are whole, or as long as the longest series allows."""
    longest = int(panel.lengths.max()) - ahead
    if longest < 1:
        raise FrameError(
            f"`frame` has no window that {ahead} steps follow: its longest series has {longest + ahead} rows; "
            "give longer series"
        )
    least = min(context, longest)
    counts = np.maximum(panel.lengths - ahead - least + 1, 0)
    series = np.repeat(np.arange(len(panel)), counts)
    rows = np.concatenate([start + least - 1 + np.arange(n) for start, n in zip(panel.starts, counts, strict=True)])
    known = np.flatnonzero(np.isfinite(panel.values[rows]))
    if not len(known):
        raise FrameError("`frame` has no window that ends with a value: all are missing; give values")
    chosen = np.sort(np.random.default_rng(seed).choice(known, min(windows, len(known)), replace=False))
    rows, series = rows[chosen], series[chosen]
    return Origins(series, rows + 1, rows - panel.starts[series] + panel.first[series])
