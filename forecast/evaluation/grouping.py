"""The groups of a table of scores: which runs and points each of its rows is about, and averages over them.

R runs, U units, P pairs of a group and a series, G groups, N the rows of runs: a forecaster, or one seed of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged
from forecast.evaluation.cells import cell_sums, point_losses
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.losses import Loss

GROUPS = ("forecaster", "seed", "unique_id", "cutoff", "ds", "step")
Across = Literal["mean", "median", "iqm"]
_CUT = {"mean": lambda n: 0 * n, "iqm": lambda n: n // 4, "median": lambda n: (n - 1) // 2}


def groups_of(by: Sequence[str]) -> list[str]:
    """Give the columns that make a group. Raises ValueError for what does not, and without the forecaster."""
    groups = list(by) if isinstance(by, Iterable) and not isinstance(by, str) else [by]
    unknown = [column for column in groups if column not in GROUPS]
    if unknown or "forecaster" not in groups or len(set(groups)) < len(groups):
        raise ValueError(f"`by` must have `forecaster` and may have others of {GROUPS}, each once; got {groups}.")
    return groups


def check_across(across: str) -> None:
    """Raise ValueError for what is no way to average over series."""
    if across not in _CUT:
        raise ValueError(f"`across` is {across!r}; allowed: {', '.join(map(repr, _CUT))}")


@dataclass(frozen=True, eq=False)
class Grouping:
    """How a ledger falls into groups by some columns.

    Its units are its cells, or where a group is of one step or one time, its points: what no group divides.
    """

    ledger: Ledger
    by: tuple[str, ...]

    def keys(self) -> pd.DataFrame:
        """Give the columns of `by` for each row of runs and group, in order of appearance: N * G rows."""
        runs, groups = len(self.row_names), len(self._firsts)
        columns: dict[str, object] = {}
        for name in self.by:
            if name in ("forecaster", "seed"):
                place = ("forecaster", "seed").index(name)
                columns[name] = np.repeat(np.array([row[place] for row in self.row_names]), groups)
            else:
                of_groups = self._stamps_of(name, self._firsts)
                columns[name] = of_groups[np.tile(np.arange(groups), runs)]
        return pd.DataFrame(columns).astype({"forecaster": "str"})

    def sums(self, loss: Loss) -> np.ndarray:
        """Give the sums of a loss over the observed points of units, (R, U): NaN where it is undefined for any run."""
        if self._of_points:
            sums = point_losses(self.ledger, loss).reshape(len(self.ledger.runs), -1)
        else:
            sums = cell_sums(self.ledger, loss)
        sums[:, ~np.isfinite(sums).all(axis=0)] = np.nan
        return sums

    def means(self, metric: Averaged, sums: np.ndarray | None = None) -> np.ndarray:
        """Give the mean losses of units, scaled if the metric is: (R, U), NaN where undefined for any run.

        `sums` are those of its loss, where they are known already.
        """
        sums = self.sums(metric.loss) if sums is None else sums
        per = np.where(self.counts > 0, self.counts, np.nan)
        if metric.scale is not None:
            per = per * self.ledger.points.scale(metric.scale)[self._cell, 0]
        return sums / per

    def by_run(self, units: np.ndarray, root: bool = False) -> np.ndarray:
        """Average what is by unit over cutoffs, then take the root: (R, U) -> (R, P)."""
        known = np.isfinite(units).all(axis=0)
        pair = self._pair[known]
        counts = np.bincount(pair, minlength=len(self.pair_group))
        runs = np.stack([np.bincount(pair, row[known], minlength=len(counts)) for row in units])
        with np.errstate(invalid="ignore"):
            means = runs / counts
        return np.sqrt(means) if root else means

    def over_seeds(self, runs: np.ndarray) -> np.ndarray:
        """Average what is by run over the runs of each row: (R, ...) -> (N, ...)."""
        return np.stack([runs[self._row_of_run == row].mean(axis=0) for row in range(len(self.row_names))])

    def across_series(self, pairs: np.ndarray, across: Across = "mean") -> np.ndarray:
        """Average over the series of each group that are defined: (N, P) -> (N, G)."""
        known = np.isfinite(pairs).all(axis=0)
        group, values = self.pair_group[known], pairs[:, known]
        counts = np.bincount(group, minlength=len(self._firsts))
        if across == "mean":
            sums = np.stack([np.bincount(group, row, minlength=len(counts)) for row in values])
            with np.errstate(invalid="ignore"):
                return sums / counts
        # A median and an inter-quartile mean are means of what is left when as many are cut off at either end.
        cut = _CUT[across](counts)
        begin = np.cumsum(counts) - counts
        filled = np.flatnonzero(counts)
        edges = np.stack([begin + cut, begin + counts - cut], axis=1)[filled].ravel()
        averages = np.full((len(values), len(counts)), np.nan)
        for row, out in zip(values, averages, strict=True):
            in_order = np.append(row[np.lexsort((row, group))], 0.0)
            out[filled] = np.add.reduceat(in_order, edges)[::2] / (counts - 2 * cut)[filled]
        return averages

    def count(self, pairs: np.ndarray) -> np.ndarray:
        """Count for how many series of each group something holds: (N, P) -> (N, G)."""
        return np.stack([np.bincount(self.pair_group[row], minlength=len(self._firsts)) for row in pairs])

    def total(self, units: np.ndarray) -> np.ndarray:
        """Add up what is by unit within each group, NaN counting nothing: (U,) -> (G,)."""
        return np.bincount(self._group, np.nan_to_num(units), minlength=len(self._firsts))

    @cached_property
    def row_names(self) -> list[tuple[str, int | None]]:
        """The forecaster of each row of runs, with its seed where the groups are by seed."""
        return list(dict.fromkeys(map(self._row_name, self.ledger.runs)))

    @cached_property
    def counts(self) -> np.ndarray:
        """How many points of each unit were observed, (U,)."""
        observed = np.isfinite(self.ledger.points.y)
        return observed.ravel().astype("int64") if self._of_points else observed.sum(axis=1)

    @cached_property
    def volume(self) -> np.ndarray:
        """The sum of |y| of each unit, (U,)."""
        y = np.abs(np.nan_to_num(self.ledger.points.y.astype("float64")))
        return y.ravel() if self._of_points else y.sum(axis=1)

    @cached_property
    def pair_group(self) -> np.ndarray:
        """The group of each pair of a group and a series, (P,)."""
        return self._pairs[1]

    @property
    def _of_points(self) -> bool:
        return "step" in self.by or "ds" in self.by

    @property
    def _pair(self) -> np.ndarray:
        return self._pairs[0]

    @cached_property
    def _row_of_run(self) -> np.ndarray:
        return np.array([self.row_names.index(self._row_name(run)) for run in self.ledger.runs])

    @cached_property
    def _cell(self) -> np.ndarray:
        """The cell of each unit, (U,)."""
        cells = np.arange(len(self.ledger.points))
        return np.repeat(cells, len(self.ledger.points.steps)) if self._of_points else cells

    @cached_property
    def _group(self) -> np.ndarray:
        """The group of each unit, (U,), numbered in order of appearance."""
        code = np.zeros(len(self._cell), "int64")
        for name in self.by:
            if name not in ("forecaster", "seed"):
                own = self._codes_of(name)
                code = code * (int(own.max()) + 1) + own
        return pd.factorize(code)[0]

    @cached_property
    def _firsts(self) -> np.ndarray:
        """The first unit of each group, (G,)."""
        # Numbered in order of appearance, a group begins where the highest number so far rises.
        return np.flatnonzero(np.diff(np.maximum.accumulate(self._group), prepend=-1))

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Number the pairs of a group and a series: of each unit (U,), and the group of each (P,)."""
        series = self.ledger.points.series[self._cell]
        count = len(self.ledger.points.ids)
        of_unit, pairs = pd.factorize(self._group * count + series)
        return of_unit, np.asarray(pairs) // count

    def _row_name(self, run) -> tuple[str, int | None]:
        return run.forecaster, run.seed if "seed" in self.by else None

    def _codes_of(self, name: str) -> np.ndarray:
        """Number the values of a column, (U,)."""
        points = self.ledger.points
        if name == "unique_id":
            return points.series[self._cell]
        if name == "cutoff":
            return points.cutoff[self._cell]
        step = np.arange(len(self._cell)) % len(points.steps)
        return step if name == "step" else self._time_codes[points.cutoff[self._cell] * len(points.steps) + step]

    @cached_property
    def _time_codes(self) -> np.ndarray:
        return pd.factorize(self.ledger.points.times)[0]

    def _stamps_of(self, name: str, units: np.ndarray) -> pd.Index:
        """Give the values of a column at some units."""
        points, cell = self.ledger.points, self._cell[units]
        if name == "unique_id":
            return points.ids[points.series[cell]]
        if name == "cutoff":
            return points.cutoffs[points.cutoff[cell]]
        step = units % len(points.steps)
        return (
            pd.Index(points.steps[step])
            if name == "step"
            else points.times[points.cutoff[cell] * len(points.steps) + step]
        )
