"""The plan of a backtest: at which cutoffs to forecast, what may be learned from before each, and when to fit again.

Cutoffs are shared calendar stamps by default: at a cutoff every series is cut at the same moment, so that no model is
fitted on one series' future while it is tested on another's. Which series take part follows from the data and the plan
alone, never from a forecaster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from forecast.evaluation.eligibility import Eligibility
from forecast.evaluation.folds import Fold, Folds
from forecast.evaluation.plan_check import check_plan, plain_cutoffs, plain_split
from forecast.evaluation.strides import plain_stride, steps_of
from forecast.frame import Panel
from forecast.origins import ordinals_of
from forecast.params import plain_numbers, spelled


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """Where a backtest forecasts from, and what it fits on.

    A series takes part in a fold if it has `min_history` observed values up to the cutoff and is under way at it: it
    has a row at the cutoff and one to be scored after it. Series that end within the horizon are scored on the steps
    they have. `print(plan.folds(panel))` says all of it before anything is fitted.

    Attributes
    ----------
    horizon: steps to forecast, and to score, at each cutoff.
    cutoffs: the cutoffs themselves, rising; a stamp between two of the calendar stands for the one before. Or else
    n_folds: how many cutoffs, `stride` steps apart: forward from `start`, or back from `end`, or else back from the end
        of the data, so that a series that ends last is scored at every step of the last of them.
    stride: from cutoff to cutoff, in steps, or in time such as "7D" where that is whole steps; None for `horizon`.
        Below the horizon one actual is forecast from several cutoffs.
    start: the first cutoff. Without `n_folds` more follow up to `end`, or else while the whole horizon is in the data.
    end: the last cutoff; one not to be gone beyond where they are counted from `start`.
    split: how many rows train, validate and test, from the first stamp of the data on; cutoffs go from the last row
        before the test rows to the last from which the horizon lies within them. See `fixed_split`.
    gap: steps between a cutoff and the first that is scored, as where data come late: nothing in them is read or
        scored. Forecasters are asked for that many steps more, and those steps are dropped.
    window: `"expanding"` to fit on everything up to the cutoff, or on how many last steps up to it.
    refit: `"every"` fold, `"never"` but at the first, or at every so many folds from the first on.
    validation: last steps up to the cutoff of a fit that it keeps for validation. A forecaster that can be told keeps
        these (`Forecaster.holding_back`); any other learns from the rows before them alone, and reads up to the cutoff.
        None: a forecaster's own affair.
    embargo: steps before those of validation, or else before the cutoff, in which no label of training lies; for
        targets that are made of m steps each, at least m - 1.
    context: last steps up to a cutoff that a forecast may read; None for all.
    min_history: observed values that a series needs up to a cutoff.
    season_length: steps of the season by which errors are scaled; None for that of the calendar.
    align: `"calendar"` for cutoffs that all series share; `"ends"` to count `n_folds` back from each series' own end.
    lookahead_across_series: whether series that end at different dates may be aligned by their ends for a forecaster
        that learns across series, which then sees dates of some that come after the cutoffs of others.

    Raises
    ------
    TypeError, ValueError: an argument is not one of those allowed, or does not go with another.

    """

    horizon: int
    cutoffs: Sequence | None = None
    n_folds: int | None = None
    stride: int | str | timedelta | None = None
    start: Any = None
    end: Any = None
    split: Sequence[int] | None = None
    gap: int = 0
    window: Literal["expanding"] | int = "expanding"
    refit: Literal["every", "never"] | int = "every"
    validation: int | None = None
    embargo: int = 0
    context: int | None = None
    min_history: int = 1
    season_length: int | None = None
    align: Literal["calendar", "ends"] = "calendar"
    lookahead_across_series: bool = False

    def __post_init__(self) -> None:
        plain_numbers(self)
        object.__setattr__(self, "cutoffs", plain_cutoffs(self.cutoffs))
        object.__setattr__(self, "stride", plain_stride(self.stride))
        object.__setattr__(self, "split", plain_split(self.split))
        check_plan(self)

    def __repr__(self) -> str:
        return spelled(self)

    @classmethod
    def fixed_split(cls, horizon: int, train: int, validation: int, test: int, *, stride: int = 1, **others) -> Self:
        """Give the plan of published tables: fitted once on the train rows, scored on every window of the test rows.

        Parameters
        ----------
        horizon: steps to forecast.
        train, validation, test: how many rows, from the first stamp of the data on; the hourly ETT data have 8640,
            2880, 2880. The first context reaches back into the rows of validation; test spans lie in the test rows.
        stride: from window to window.
        others: arguments of `Plan`, such as `context=336`.

        """
        return cls(horizon=horizon, split=(train, validation, test), stride=stride, **{"refit": "never", **others})

    @property
    def held_back(self) -> int | None:
        """Steps kept for validation; None where that is a forecaster's own affair."""
        return self.validation if self.split is None else self.split[1]

    def folds(self, panel: Panel) -> Folds:
        """Give the folds on a panel, in order of time.

        Raises
        ------
        TypeError: `panel` is no panel, or a cutoff no stamp of its calendar.
        ValueError: a cutoff outside the data, or at which no series can take part; more folds than the data hold; a
            fit without rows to learn from; a stride that is not whole steps.

        """
        if not isinstance(panel, Panel):
            raise TypeError(f"`panel` is a {type(panel).__name__}; give a Panel: check_frame(frame)")
        cutoffs = np.array(self._cutoffs(panel), dtype="int64")
        shared = self.align == "calendar"
        lag = np.broadcast_to(0, (len(panel),)) if shared else panel.last.max() - panel.last  # (S,)
        ends = cutoffs - lag[:, None]  # (S, F)
        eligibility = Eligibility.of(panel, ends, self.gap, self.min_history, self.context)
        series = [eligibility.series(number) for number in range(len(cutoffs))]
        if not all(map(len, series)):
            raise ValueError(self._idle(panel, cutoffs, series))
        stamps = panel.calendar.stamps(cutoffs)
        folds = tuple(
            self._fold(panel, number, cutoffs, stamps[number], series[number], lag) for number in range(len(cutoffs))
        )
        return Folds(self, panel, folds, eligibility)

    def table(self, panel: Panel) -> pd.DataFrame:
        """Give one row per fold, for people and plots; see `Folds.table`. Raises what `folds` raises."""
        return self.folds(panel).table()

    def series_table(self, panel: Panel) -> pd.DataFrame:
        """Give which series take part in which folds, and why others do not. Raises what `folds` raises."""
        return self.folds(panel).series_table()

    def rule(self) -> str:
        """Say in words where the cutoffs are from."""
        stride = self.stride or self.horizon
        steps = " step" if stride == 1 else " steps"
        apart = f"{stride.removesuffix(' 00:00:00') if isinstance(stride, str) else f'{stride}{steps}'} apart"
        if self.cutoffs is not None:
            return "cutoffs as given"
        if self.split is not None:
            train, validation, test = self.split
            return f"the windows of {test} rows after {train} to train and {validation} to validate on, {apart}"
        if self.start is not None:
            return f"cutoffs counted from {self.start}, {apart}"
        back = f"from {self.end}" if self.end is not None else "from the end of the data"
        return f"cutoffs counted back {'from the end of each series' if self.align == 'ends' else back}, {apart}"

    # -- where the cutoffs are -----------------------------------------------------------------------------------------

    def _cutoffs(self, panel: Panel) -> list[int]:
        """Give the ordinals of the cutoffs, those of the series that ends last; rising."""
        begin, last = int(panel.first.min()), int(panel.last.max()) - self.gap - self.horizon
        if self.cutoffs is not None:
            return self._within(panel, "cutoffs", list(self.cutoffs))
        stride = steps_of(self.stride or self.horizon, panel.calendar, begin, int(panel.last.max()))  # type: ignore
        if self.split is not None:
            first = begin + self.split[0] + self.split[1] - 1
            end = begin + sum(self.split) - 1
            if end > panel.last.max():
                rows = int(panel.last.max()) - begin + 1
                raise ValueError(f"`split` takes {sum(self.split)} rows, and the data have {rows}: give smaller parts")
            return list(range(first, end - self.gap - self.horizon + 1, stride))
        end = last if self.end is None else self._within(panel, "end", [self.end])[0]
        # Of more folds than the data hold one beyond them is enough to tell, however many are asked for.
        if self.start is None:
            held = min(self.n_folds or 0, max(end - begin, 0) // stride + 2)
            return [end - stride * back for back in reversed(range(held))]
        start = self._within(panel, "start", [self.start])[0]
        if self.n_folds is not None:
            held = min(self.n_folds, (int(panel.last.max()) - start) // stride + 2)
            return list(range(start, start + stride * held, stride))
        if start > end:
            stamp = panel.calendar.stamp
            lack = f"comes after `end`, {self.end}" if self.end is not None else "leaves no room for the horizon"
            raise ValueError(f"`start`: {self.start} {lack}; give one of {stamp(end)} or before")
        return list(range(start, end + 1, stride))

    def _within(self, panel: Panel, name: str, given: list) -> list[int]:
        """Give the ordinals of stamps, once each is known to lie within the data and after the one before."""
        calendar = panel.calendar
        begin, end = int(panel.first.min()), int(panel.last.max()) - self.gap
        ordinals = ordinals_of(calendar, given, name)
        for place, (ordinal, stamp) in enumerate(zip(ordinals, given, strict=True)):
            if not begin <= ordinal < end:
                lack = "no history before it" if ordinal < begin else "nothing after it to score"
                gap = f" (`gap` {self.gap})" if self.gap else ""
                raise ValueError(
                    f"`{name}`: {stamp} has {lack}{gap}; the data run from {calendar.stamp(begin)} to "
                    f"{calendar.stamp(end + self.gap)}: give cutoffs from {calendar.stamp(begin)} to "
                    f"{calendar.stamp(end - 1)}"
                )
            if place and ordinal <= ordinals[place - 1]:
                fault = "is the same time as" if ordinal == ordinals[place - 1] else "stands after the later"
                raise ValueError(f"`{name}`: {stamp} {fault} {given[place - 1]}; give each once, rising")
        return ordinals

    # -- what belongs to each ------------------------------------------------------------------------------------------

    def _fold(
        self, panel: Panel, number: int, cutoffs: np.ndarray, stamp: Any, series: np.ndarray, lag: np.ndarray
    ) -> Fold:
        fit_fold = 0 if self.refit == "never" else number - number % (1 if self.refit == "every" else self.refit)
        begin, cutoff, fit_end = int(panel.first.min()), int(cutoffs[number]), int(cutoffs[fit_fold])
        train_end = fit_end - (self.held_back or 0) - self.embargo
        train_start = begin if self.window == "expanding" else max(begin, fit_end - self.window + 1)
        if train_end < train_start:
            raise ValueError(
                f"`validation` of {self.held_back or 0} and `embargo` of {self.embargo} steps leave fold {fit_fold}, "
                f"cutoff {panel.calendar.stamp(fit_end)}, nothing to learn from: the data begin at "
                f"{panel.calendar.stamp(begin)}. Give smaller ones, or later cutoffs"
            )
        return Fold(
            number=number,
            cutoff=cutoff,
            stamp=stamp,
            fit_fold=fit_fold,
            train_start=train_start,
            train_end=train_end,
            fit_end=fit_end,
            validation_start=fit_end - self.held_back + 1 if self.held_back else None,
            context_start=begin if self.context is None else max(begin, cutoff - self.context + 1),
            test_start=cutoff + self.gap + 1,
            test_end=cutoff + self.gap + self.horizon,
            series=series,
            lag=lag,
        )

    def _idle(self, panel: Panel, cutoffs: np.ndarray, series: Sequence[np.ndarray]) -> str:
        """Say at which fold no series takes part, and what to do."""
        number = max(number for number, some in enumerate(series) if len(some) == 0)
        begin, end = (panel.calendar.stamp(int(time)) for time in (panel.first.min(), panel.last.max()))
        beyond = self.n_folds - len(cutoffs) if self.n_folds is not None and self.start is None else 0
        text = (
            f"no series is under way with `min_history` = {self.min_history} observed values at fold "
            f"{number + beyond}; the data run from {begin} to {end}"
        )
        if self.n_folds is None:
            name = next(name for name in ("cutoffs", "split", "start") if getattr(self, name) is not None)
            less = "leave it out, or need less history" if name == "cutoffs" else "give another, or need less history"
            return f"`{name}`: {panel.calendar.stamp(int(cutoffs[number]))}: {text}: {less}"
        counted = len(cutoffs) - 1 - number
        if self.start is not None:
            counted = next(number for number, some in enumerate(series) if len(some) == 0)
        return (
            f"`n_folds` is {self.n_folds} with a stride of {self.stride or self.horizon}, a gap of {self.gap} and a "
            f"horizon of {self.horizon}, but the data hold {counted}: {text}: ask for fewer folds, or a shorter "
            "stride or horizon"
        )
