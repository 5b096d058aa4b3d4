"""The ledger: every forecast of a backtest with what came true, the only source of every score, comparison and plot."""

from __future__ import annotations

import hashlib
import json
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from forecast.evaluation.ledger.check import check_fits, check_points, check_run
from forecast.evaluation.ledger.files import read_ledgers, write_ledger
from forecast.evaluation.ledger.joining import join
from forecast.evaluation.ledger.points import Points, Run
from forecast.evaluation.ledger.tables import fits_in_order, forecasts_of, runs_of, scales_of
from forecast.params import check_positive


@dataclass(frozen=True, eq=False)
class Ledger:
    """Everything a backtest has forecast, with what came true, what it cost and what it is measured against.

    It is held as arrays, and never changed: a ledger that is there can be scored. `backtest` gives one; `Ledger.of`
    makes one of tables; `Ledger.concat` joins several; `write` and `read` keep one in a folder.

    Attributes
    ----------
    runs: one for each forecaster and seed, all over the same points.
    fits: one row per (forecaster, seed, fit_cutoff): `family, backbone` and `decoder` ("" for none), `parameters,
        fit_seconds, predict_seconds, forecasts` (pairs of series and cutoff that were predicted)`, context` (values
        that are read at most; NaN for the whole history)`, fallbacks` (how many of the forecasts are those of a named
        fallback)`, fit_id` (a hash of all that the fit depends on; "" where unknown).
    season_length: m of the scales, in time steps; one value for the whole data set.

    Raises
    ------
    TypeError: a `season_length` that is no whole number.
    ValueError: forecasts that are not finite or cross, points without a forecast, or anything else that cannot be
        scored; the first is named.

    """

    runs: tuple[Run, ...]
    fits: pd.DataFrame
    season_length: int

    def __post_init__(self) -> None:
        check_positive(season_length=self.season_length)
        if not self.runs:
            raise ValueError("`runs` is empty: a ledger holds one or more")
        object.__setattr__(self, "runs", join(self.runs))
        object.__setattr__(self, "fits", fits_in_order(self.fits))
        check_points(self.points)
        for run in self.runs:
            check_run(run)
        check_fits(self.fits, self.runs)

    def __repr__(self) -> str:
        M, H = self.points.y.shape
        seeds = max(len(self.of_forecaster(name)) for name in self.forecasters)
        names = reprlib.repr(list(self.forecasters))
        return (
            f"Ledger({names}, {seeds} seeds, {M:,} series and cutoffs, {H} steps, {len(self.quantile_levels)} levels)"
        )

    @classmethod
    def of(cls, forecasts: pd.DataFrame, scales: pd.DataFrame, fits: pd.DataFrame, season_length: int) -> Ledger:
        """Give the ledger of tables, with rows and columns in any order.

        Parameters
        ----------
        forecasts: one row per (forecaster, seed, unique_id, cutoff, step): `forecaster, seed, unique_id, cutoff, ds,
            step, y, prediction, mean, 0.1 ... 0.9, fit_cutoff`, and `staleness` and `status` if they are known. `y` is
            NaN where nothing was observed; `prediction` is the median; the level columns are strings; all values are
            in the units of the series.
        scales: one row per (unique_id, cutoff): `absolute` and `squared`; `fold` where cutoffs are each series' own.
        fits, season_length: as in the ledger; `context, fallbacks, fit_id` need not be given.

        Raises
        ------
        TypeError: what is no DataFrame.
        ValueError: as for a ledger; columns that are not those named; forecasters or seeds that differ in their rows.

        """
        return cls(runs_of(forecasts, scales), fits, season_length)

    @classmethod
    def concat(cls, ledgers: Sequence[Ledger]) -> Ledger:
        """Join ledgers over the same data: of more forecasters, seeds or cutoffs.

        Equal rows of `fits` are kept once. Raises ValueError when there is no ledger to join, when `season_length`
        differs and when the whole is no ledger; TypeError for what is no list of ledgers.
        """
        if not isinstance(ledgers, Sequence) or not all(isinstance(ledger, Ledger) for ledger in ledgers):
            raise TypeError(f"`ledgers` is {reprlib.repr(ledgers)}; allowed: a list of Ledgers")
        if not ledgers:
            raise ValueError("`ledgers` is empty: give at least one ledger to join.")
        seasons = list(dict.fromkeys(ledger.season_length for ledger in ledgers))
        fits = pd.concat([ledger.fits for ledger in ledgers], ignore_index=True).drop_duplicates()
        return cls(tuple(run for ledger in ledgers for run in ledger.runs), fits, _one_of(seasons))

    @property
    def points(self) -> Points:
        """What is forecast and what came true."""
        return self.runs[0].points

    @property
    def forecasters(self) -> tuple[str, ...]:
        """Names in order of appearance."""
        return tuple(dict.fromkeys(run.forecaster for run in self.runs))

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """Levels in (0, 1), rising."""
        return self.runs[0].levels

    @property
    def horizon(self) -> int:
        """The last step that is forecast."""
        return int(self.points.steps[-1])

    def of_forecaster(self, name: str) -> tuple[Run, ...]:
        """Give the runs of one forecaster: one for each seed."""
        return tuple(run for run in self.runs if run.forecaster == name)

    @property
    def forecasts(self) -> pd.DataFrame:
        """The long table, made on demand: the columns that `of` takes, by run, series, cutoff and step."""
        return forecasts_of(self.runs)

    @property
    def scales(self) -> pd.DataFrame:
        """One row per series and cutoff, made on demand: the columns that `of` takes."""
        return scales_of(self.points)

    @property
    def digest(self) -> str:
        """A hash of every number forecast and measured, whatever the order of runs, series and folds; not of costs."""
        points = self.points
        names = [f"{type(name).__name__} {name}" for name in points.ids]
        rank = np.argsort(np.argsort(names, kind="stable"), kind="stable")
        order = np.lexsort((points.cutoff, rank[points.series]))
        digest = hashlib.sha256()
        cells = [(names[points.series[cell]], str(points.cutoffs[points.cutoff[cell]])) for cell in order]
        stamps = [str(stamp) for stamp in points.times]
        digest.update(
            json.dumps([self.season_length, self.quantile_levels, points.steps.tolist(), cells, stamps]).encode()
        )
        for array in (points.y, points.absolute, points.squared):
            digest.update(np.ascontiguousarray(array[order]).tobytes())
        for run in sorted(self.runs, key=lambda run: (run.forecaster, run.seed)):
            fitted = [str(stamp) for stamp in run.fit_cutoffs]
            digest.update(json.dumps([run.forecaster, run.seed, [fitted[at] for at in run.fit[order]]]).encode())
            for array in (run.quantiles, run.median, run.mean):
                digest.update(np.ascontiguousarray(array[order]).tobytes())
        return digest.hexdigest()

    def write(self, folder: str | Path, *, table: bool = True) -> None:
        """Write it into a folder: `forecasts.parquet`, the long table, or `forecasts.npz` where pyarrow is not there.

        The latter also without `table`: `read` maps it, so that ledgers can be scored that memory would not hold.
        `points.npz`, `fits.csv` and `ledger.json` beside it complete it. The same ledger gives the same bytes. Raises
        ValueError for series called by what a file cannot hold: text, integers and timestamps it can.
        """
        write_ledger(Path(folder), self.runs, self.fits, self.season_length, table=table)

    @classmethod
    def read(cls, folder: str | Path) -> Ledger:
        """Read what `write` wrote: the same numbers to the last bit, the same dtypes; checked again.

        Raises FileNotFoundError where a file is not there, ImportError for Parquet without pyarrow, and ValueError for
        files that are damaged or of another version, and for what is no ledger.
        """
        runs, fits, seasons = read_ledgers([Path(folder)])
        return cls(runs, fits, _one_of(seasons))

    @classmethod
    def read_all(cls, folders: Sequence[str | Path]) -> Ledger:
        """Read what `write` wrote into several folders as one ledger, the same that `concat` makes of all of them.

        Many small ones are read in a fraction of the time. Raises as `read` and `concat` do.
        """
        if isinstance(folders, str | Path) or not folders:
            raise ValueError(f"`folders` is {folders!r}; allowed: a list of one or more folders")
        runs, fits, seasons = read_ledgers([Path(folder) for folder in folders])
        return cls(runs, fits.drop_duplicates(), _one_of(seasons))

    def take(self, forecasters: Sequence[str]) -> Ledger:
        """Give the ledger of some forecasters.

        Raises TypeError for what is no list of names, ValueError for none, one that it does not have or one that comes
        twice.
        """
        if isinstance(forecasters, str) or not isinstance(forecasters, Iterable):
            raise TypeError(f"`forecasters` is {forecasters!r}; allowed: a list of names, of {list(self.forecasters)}")
        names = list(forecasters)
        if unknown := [name for name in names if name not in self.forecasters]:
            raise ValueError(f"`forecasters`: {unknown[0]!r} is not in the ledger; it has {list(self.forecasters)}")
        if not names or len(set(names)) < len(names):
            raise ValueError(f"`forecasters` is {names}; allowed: one or more of {list(self.forecasters)}, each once")
        runs = tuple(run for name in names for run in self.of_forecaster(name))
        kept = self.fits[self.fits["forecaster"].isin(names)].reset_index(drop=True)
        return replace(self, runs=runs, fits=kept)


def _one_of(seasons: Sequence[int]) -> int:
    if len(seasons) > 1:
        raise ValueError(f"`season_length` must be one value in all ledgers; got {seasons}. Backtest with one season.")
    return seasons[0]


def check(ledger: Ledger) -> None:
    """Raise TypeError for what is no ledger; one that is there can be scored."""
    if not isinstance(ledger, Ledger):
        raise TypeError(f"`ledger` is a {type(ledger).__name__}; give the Ledger that `backtest` gives")
