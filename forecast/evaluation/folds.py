"""The folds of a plan on a panel: what each fits on, holds back, reads and is scored on, before anything is trained.

S series, F folds, H horizon.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd

from forecast.evaluation.eligibility import Eligibility
from forecast.frame import Panel

if TYPE_CHECKING:
    from forecast.evaluation.plan import Plan

_TOLD = 4  # folds that are told one by one


@dataclass(frozen=True, eq=False)
class Fold:
    """One cutoff of a backtest; all times are calendar ordinals and inclusive, except `stamp`.

    Where every series has cutoffs of its own, times are those of the series that ends last.

    Attributes
    ----------
    number: place in the plan, from 0.
    cutoff, stamp: the last time whose values may be used, as ordinal and as stamp.
    fit_fold: number of the fold whose fit is used; that of the fold itself where it fits.
    train_start, train_end: the rows that this fit learns from; what a forecaster keeps for validation by a rule of its
        own is among them.
    fit_end: the last row that this fit is given at all: the cutoff of `fit_fold`.
    validation_start: the first of the rows that the plan keeps for validation, up to `fit_end`; None for no such rows.
    context_start: the first row that may be read for a forecast.
    test_start, test_end: the `horizon` steps that are scored.
    series: (n,) positions in the panel of the series that take part.
    lag: (S,) how much earlier the cutoff of each series of the panel is; 0 where all share it.

    """

    number: int
    cutoff: int
    stamp: Any
    fit_fold: int
    train_start: int
    train_end: int
    fit_end: int
    validation_start: int | None
    context_start: int
    test_start: int
    test_end: int
    series: np.ndarray
    lag: np.ndarray

    @property
    def cutoffs(self) -> np.ndarray:
        """The cutoff of each series that takes part, (n,) ordinals."""
        return self.cutoff - self.lag[self.series]

    def rows(self, panel: Panel, begin: int, end: int) -> Panel:
        """Give the rows of the panel from `begin` to `end`, earlier by the lag, over arrays of their own.

        Known covariates go on as far as a forecast from `end` reaches.
        """
        there = (panel.first <= end - self.lag) & (begin - self.lag <= panel.last)
        lag, cut = self.lag[there], panel.take(there)
        cut = cut.until(end - lag).since(begin - lag)
        if cut.covariates is not None:
            known = cut.covariates.until(end - lag + self.test_end - self.cutoff)
            cut = replace(cut, covariates=known)
        return cut.detached(cut.last if self.lag.any() else None)


@dataclass(frozen=True, eq=False)
class Folds(Sequence[Fold]):
    """The folds of a plan on a panel, in order of time: to be printed, drawn (`plot_folds`) and hashed.

    Attributes
    ----------
    plan, panel: what they are made of.
    folds: the folds.
    eligibility: which series take part in which fold, which do not, and why.

    """

    plan: "Plan"
    panel: Panel
    folds: tuple[Fold, ...]
    eligibility: Eligibility

    def __len__(self) -> int:
        return len(self.folds)

    def __iter__(self) -> Iterator[Fold]:
        return iter(self.folds)

    @overload
    def __getitem__(self, place: int) -> Fold: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Fold, ...]: ...
    def __getitem__(self, place):
        return self.folds[place]

    def __repr__(self) -> str:
        return f"Folds({len(self)} of horizon {self.plan.horizon}, {self.folds[0].stamp} to {self.folds[-1].stamp})"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    @cached_property
    def points(self) -> np.ndarray:
        """How many values are observed, hence scored, in each fold at each step, (F, H)."""
        steps = self.plan.gap + np.arange(1, self.plan.horizon + 1)
        counts = [
            np.isfinite(self.panel.at(fold.series[:, None], fold.cutoffs[:, None] + steps)).sum(axis=0)
            for fold in self.folds
        ]
        return np.stack(counts)

    @cached_property
    def digest(self) -> str:
        """A sha256 of what is asked: folds, spans and series, whatever the order of these; the same in any process."""
        ids = [f"{type(name).__name__} {name}" for name in map(self.panel.id_of, range(len(self.panel)))]
        order = np.argsort(np.array(ids, dtype=object), kind="stable")
        rank = np.empty(len(ids), dtype="<i8")
        rank[order] = np.arange(len(ids))
        plan, calendar = self.plan, self.panel.calendar
        told = [plan.horizon, plan.gap, plan.context, plan.season_length, calendar.freq, str(calendar.zone)]
        found = hashlib.sha256(repr([*told, [ids[place] for place in order]]).encode("utf-8", "surrogatepass"))
        for fold in self.folds:
            spans = (fold.number, fold.fit_fold, fold.cutoff, fold.train_start, fold.train_end, fold.fit_end)
            spans += (fold.validation_start or 0, fold.context_start, fold.test_start, fold.test_end)
            found.update(f"{fold.stamp} {spans}".encode())
            own = np.stack([rank[fold.series], fold.cutoffs.astype("<i8")])
            found.update(own[:, own[0].argsort()].tobytes())
        return found.hexdigest()

    def table(self) -> pd.DataFrame:
        """Give one row per fold, for people and plots.

        Columns: `fold, cutoff, train_start, train_end` (the rows that the fit learns from), `validation_start` (missing
        where the plan keeps no rows for validation), `context_start` (the first row that a forecast may read, up to the
        cutoff), `test_start, test_end` (what is scored), `fit_fold` (whose fit is used), `gap` (steps that are skipped
        before `test_start`), then how many `series` take part and how many `points` are observed, hence scored.

        Contexts and training rows of one fold may overlap what was scored in an earlier one; within a fold nothing that
        is scored is fitted on, validated on or read.
        """
        names = ("cutoff", "train_start", "train_end", "context_start", "test_start", "test_end")
        times = {name: self._stamps([getattr(fold, name) for fold in self.folds]) for name in names}
        validated = self._stamps([fold.validation_start for fold in self.folds])
        return pd.DataFrame(
            {
                "fold": [fold.number for fold in self.folds],
                "cutoff": times["cutoff"],
                "train_start": times["train_start"],
                "train_end": times["train_end"],
                "validation_start": validated,
                "context_start": times["context_start"],
                "test_start": times["test_start"],
                "test_end": times["test_end"],
                "fit_fold": [fold.fit_fold for fold in self.folds],
                "gap": self.plan.gap,
                "series": [len(fold.series) for fold in self.folds],
                "points": self.points.sum(axis=1),
            }
        )

    def series_table(self) -> pd.DataFrame:
        """Give which series take part in which folds, and why others do not; see `Eligibility.table`."""
        return self.eligibility.table()

    def train_deviations(self) -> pd.Series:
        """Give the standard deviation of each series over the rows that the first fit learns from, by id.

        Published scores on z-scored values are in these units: an MSE divided by the square of them, series by series.
        NaN where nothing was observed.
        """
        first = self.folds[0]
        train = first.rows(self.panel, first.train_start, first.train_end)
        values = [x[observed].astype("float64") for x, observed in train]
        found = pd.Series([x.std() if len(x) else np.nan for x in values], index=train.ids, dtype="float64")
        return found.reindex(self.panel.ids)

    def _stamps(self, ordinals: Sequence[int | None]) -> pd.Series:
        """Give the stamps of ordinals; all or none of them are missing."""
        calendar = self.panel.calendar
        if all(ordinal is None for ordinal in ordinals):
            kind = "float64" if calendar.unit is None else calendar.stamps([self.folds[0].cutoff]).dtype
            return pd.Series([None] * len(ordinals), dtype=kind)
        return pd.Series(calendar.stamps(ordinals))

    def _lines(self) -> Iterator[str]:
        plan, table, F = self.plan, self.table(), len(self)
        fits = sum(fold.number == fold.fit_fold for fold in self.folds)
        yield (
            f"{_count(F, 'fold')} of horizon {plan.horizon}{f' after a gap of {plan.gap}' if plan.gap else ''}, "
            f"{_count(fits, 'fit')}: {plan.rule()}"
        )
        if plan.align == "ends":
            yield "each series has cutoffs of its own, counted back from its end; times are of the one that ends last"
            if self.folds[0].lag.any() and plan.lookahead_across_series:
                yield "a fit sees dates of some series that lie after the cutoffs of others (`lookahead_across_series`)"
        if F > 1 and min(np.diff([fold.cutoff for fold in self.folds])) < plan.horizon:
            yield "tests overlap: one actual is forecast from several cutoffs"
        for place, row in enumerate(table.to_dict("records")):
            if F > _TOLD + 1 and _TOLD - 1 <= place < F - 1:
                if place == F - 2:
                    yield f"... {F - _TOLD:,} folds more ..."
                continue
            yield self._told(row)
        most = sum(len(fold.series) for fold in self.folds) * plan.horizon
        steps = self.points.sum(axis=0)
        yield (
            f"{int(steps.sum()):,} test points of {most:,} are observed: {steps[0]:,} at the first step, "
            f"{steps[-1]:,} at the last"
        )
        yield from self.eligibility.lines()

    def _told(self, row: dict[str, Any]) -> str:
        fit = f"fit on {row['train_start']} to {row['train_end']}"
        if not pd.isna(row["validation_start"]):
            fit += f", validated from {row['validation_start']}"
        if row["fit_fold"] != row["fold"]:
            fit = f"as fitted in fold {row['fit_fold']}"
        reads = f", reads from {row['context_start']}" if self.plan.context else ""
        size = f"{row['series']:,} series, {_count(row['points'], 'value')}"
        return (
            f"fold {row['fold']}: {fit}{reads}, cutoff {row['cutoff']}, scored on {row['test_start']} to "
            f"{row['test_end']} ({size})"
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
