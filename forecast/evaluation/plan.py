"""The plan of a backtest: at which cutoffs to forecast, what may be learned from before each, and when to fit again.

Cutoffs are shared calendar stamps: at a cutoff every series is cut at the same moment, so that no model is fitted on
one series' future while it is tested on another's. Which series take part follows from the data and the plan alone,
never from a forecaster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from forecast.frame import Panel
from forecast.origins import ordinals_of
from forecast.params import check_positive, plain_numbers


@dataclass(frozen=True, eq=False)
class Fold:
    """One cutoff of a backtest; all times are calendar ordinals and inclusive, except `stamp`.

    Attributes
    ----------
    number: place in the plan, from 0.
    cutoff, stamp: the last time whose values may be used, as ordinal and as stamp.
    fit_fold: number of the fold whose fit is used; that of the fold itself where it fits.
    train_start, train_end: the rows that this fit has seen.
    test_start, test_end: the `horizon` steps that are forecast.
    series: (n,) positions in the panel of the series that take part.

    """

    number: int
    cutoff: int
    stamp: Any
    fit_fold: int
    train_start: int
    train_end: int
    test_start: int
    test_end: int
    series: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Where a backtest forecasts from, and what it fits on.

    A series takes part in a fold if it has `min_history` observed values up to the cutoff and is under way at it: it
    has a row at the cutoff and one after it. Series that end within the horizon are scored on the steps they have.

    Attributes
    ----------
    horizon: steps to forecast at each cutoff.
    cutoffs: the cutoffs themselves, rising; a stamp between two of the calendar stands for the one before. Or else
    n_folds: how many cutoffs, counted back from the end: the last lies `horizon` steps before the last stamp of the
        panel, so that a series that ends last is scored at every step, and each other `stride` steps before the next.
    stride: steps between cutoffs; None for `horizon`. Below the horizon one actual is forecast from several cutoffs.
    window: `"expanding"` to fit on everything up to the cutoff, or on how many last steps up to it.
    refit: `"every"` fold, `"never"` but at the first, or at every so many folds from the first on.
    min_history: observed values that a series needs up to a cutoff.
    season_length: steps of the season by which errors are scaled; None for that of the calendar.

    Raises
    ------
    TypeError, ValueError: an argument is not one of those allowed.

    """

    horizon: int
    cutoffs: Sequence | None = None
    n_folds: int | None = None
    stride: int | None = None
    window: Literal["expanding"] | int = "expanding"
    refit: Literal["every", "never"] | int = "every"
    min_history: int = 1
    season_length: int | None = None

    def __post_init__(self) -> None:
        plain_numbers(self)
        check_positive(horizon=self.horizon, min_history=self.min_history)
        optional = {"n_folds": self.n_folds, "stride": self.stride, "season_length": self.season_length}
        check_positive(**{name: value for name, value in optional.items() if value is not None})
        for name, words in (("window", ("expanding",)), ("refit", ("every", "never"))):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                if not isinstance(value, str) or value not in words:
                    allowed = " or ".join(map(repr, words))
                    raise ValueError(f"`{name}` is {value!r}; allowed: {allowed}, or a whole number of 1 or more")
            else:
                check_positive(**{name: value})
        if (self.cutoffs is None) == (self.n_folds is None):
            raise ValueError(
                f"`cutoffs` is {self.cutoffs!r} and `n_folds` is {self.n_folds!r}; give one of the two: stamps to "
                "forecast from, or how many to take from the end of the data"
            )
        if self.cutoffs is not None and (np.ndim(self.cutoffs) != 1 or len(self.cutoffs) == 0):  # type: ignore[arg-type]
            raise ValueError(f"`cutoffs` is {self.cutoffs!r}; allowed: a list of one or more stamps")
        if self.cutoffs is not None and self.stride is not None:
            raise ValueError("`stride` belongs to `n_folds` and has no meaning beside `cutoffs`; leave it out")

    def folds(self, panel: Panel) -> list[Fold]:
        """Give the folds on a panel, in order of time.

        Raises
        ------
        TypeError: `panel` is no panel, or a cutoff no stamp of its calendar.
        ValueError: a cutoff outside the data, or at which no series can take part; more folds than the data hold.

        """
        if not isinstance(panel, Panel):
            raise TypeError(f"`panel` is a {type(panel).__name__}; give a Panel: check_frame(frame)")
        cutoffs = self._back_from_the_end(panel) if self.cutoffs is None else self._given(panel)
        seen = np.concatenate([[0], np.cumsum(panel.observed)])  # observed values before each row
        series = [self._series(panel, seen, cutoff) for cutoff in cutoffs]
        if not all(map(len, series)):
            raise ValueError(self._idle(panel, cutoffs, series))
        begin = int(panel.first.min())
        folds = []
        for number, (cutoff, stamp) in enumerate(zip(cutoffs, panel.calendar.stamps(cutoffs), strict=True)):
            fit_fold = 0 if self.refit == "never" else number - number % (1 if self.refit == "every" else self.refit)
            train_end = cutoffs[fit_fold]
            folds.append(
                Fold(
                    number=number,
                    cutoff=cutoff,
                    stamp=stamp,
                    fit_fold=fit_fold,
                    train_start=begin if self.window == "expanding" else max(begin, train_end - self.window + 1),
                    train_end=train_end,
                    test_start=cutoff + 1,
                    test_end=cutoff + self.horizon,
                    series=series[number],
                )
            )
        return folds

    def table(self, panel: Panel) -> pd.DataFrame:
        """Give one row per fold, for people and plots.

        Columns: `fold, cutoff, train_start, train_end, validation_start` (empty: what a forecaster holds back is its
        own affair), `test_start, test_end, fit_fold`, then how many `series` take part and how many `points` are
        observed, hence scored. Raises what `folds` raises.
        """
        folds = self.folds(panel)
        names = ("cutoff", "train_start", "train_end", "test_start", "test_end")
        times = {name: panel.calendar.stamps([getattr(fold, name) for fold in folds]) for name in names}
        no_time = "float64" if panel.calendar.unit is None else times["cutoff"].dtype
        return pd.DataFrame(
            {
                "fold": [fold.number for fold in folds],
                "cutoff": times["cutoff"],
                "train_start": times["train_start"],
                "train_end": times["train_end"],
                "validation_start": pd.Series([None] * len(folds), dtype=no_time),
                "test_start": times["test_start"],
                "test_end": times["test_end"],
                "fit_fold": [fold.fit_fold for fold in folds],
                "series": [len(fold.series) for fold in folds],
                "points": [_points(panel, fold) for fold in folds],
            }
        )

    def _back_from_the_end(self, panel: Panel) -> list[int]:
        stride = self.stride or self.horizon
        last = int(panel.last.max()) - self.horizon
        return [last - stride * back for back in reversed(range(self.n_folds or 0))]

    def _given(self, panel: Panel) -> list[int]:
        """Give the ordinals of `cutoffs`, once each is known to lie within the data and after the one before."""
        calendar = panel.calendar
        begin, end = int(panel.first.min()), int(panel.last.max())
        given = [] if self.cutoffs is None else list(self.cutoffs)
        cutoffs = ordinals_of(calendar, given)
        for place, (cutoff, stamp) in enumerate(zip(cutoffs, given, strict=True)):
            if not begin <= cutoff < end:
                lack = "no history before it" if cutoff < begin else "nothing after it to score"
                raise ValueError(
                    f"`cutoffs`: {stamp} has {lack}; the data run from {calendar.stamp(begin)} to "
                    f"{calendar.stamp(end)}: give cutoffs from {calendar.stamp(begin)} to {calendar.stamp(end - 1)}"
                )
            if place and cutoff <= cutoffs[place - 1]:
                fault = "is the same time as" if cutoff == cutoffs[place - 1] else "comes after"
                raise ValueError(f"`cutoffs`: {stamp} {fault} {given[place - 1]}; give each once, rising")
        return cutoffs

    def _series(self, panel: Panel, seen: np.ndarray, cutoff: int) -> np.ndarray:
        """Give the positions of the series that take part at a cutoff."""
        under_way = (panel.first <= cutoff) & (cutoff < panel.last)
        ends = np.where(under_way, panel.starts + cutoff + 1 - panel.first, panel.starts)
        return np.flatnonzero(under_way & (seen[ends] - seen[panel.starts] >= self.min_history))

    def _idle(self, panel: Panel, cutoffs: Sequence[int], series: Sequence[np.ndarray]) -> str:
        """Say at which fold no series takes part, and what to do."""
        number = max(number for number, some in enumerate(series) if len(some) == 0)
        begin, end = (panel.calendar.stamp(int(time)) for time in (panel.first.min(), panel.last.max()))
        text = (
            f"no series is under way with `min_history` = {self.min_history} observed values at fold {number}; the "
            f"data run from {begin} to {end}"
        )
        if self.n_folds is None:
            return f"`cutoffs`: {panel.calendar.stamp(cutoffs[number])}: {text}: leave it out, or need less history"
        return (
            f"`n_folds` is {self.n_folds} with a stride of {self.stride or self.horizon} and a horizon of "
            f"{self.horizon}, but the data hold {self.n_folds - 1 - number}: {text}: ask for fewer folds, or a shorter "
            "stride or horizon"
        )


def _points(panel: Panel, fold: Fold) -> int:
    """Give how many of the values that a fold forecasts are observed."""
    steps = np.arange(fold.test_start, fold.test_end + 1)
    return int(np.isfinite(panel.at(fold.series[:, None], steps)).sum())
